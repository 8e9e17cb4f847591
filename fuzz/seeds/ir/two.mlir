func.func @unrelated(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

func.func @interesting(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.round %x {point = "attn.q"} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
