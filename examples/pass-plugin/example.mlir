dsflash.param @ffn.experts.w1 "layers.{l}.ffn.experts.{e}.w1.weight" scale "layers.{l}.ffn.experts.{e}.w1.scale"
  layers [0, 1] : !dsflash.weight<[16, 64, 256], <e2m1, e8m0, [1, 32]>>
