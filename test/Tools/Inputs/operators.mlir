// Single operations, to be run by name; values in check_function.py.
!gain = !dsflash.weight<[1, 64], <bf16>>
!fn = !dsflash.weight<[24, 256], <f32>>
!base = !dsflash.weight<[1, 24], <f32>>
!scale = !dsflash.weight<[1, 3], <f32>>
!experts = !dsflash.weight<[4, 48, 64], <e2m1, e8m0, [1, 32]>>

dsflash.param @gain "norm.weight" : !gain
dsflash.param @w1 "experts.{e}.w1.weight" scale "experts.{e}.w1.scale" : !experts

func.func @norm(%x: tensor<?x64xf32> {dsflash.name = "x"}) -> (tensor<?x64xf32> {dsflash.name = "y"}) {
  %w = dsflash.param_ref @gain : <[1, 64], <bf16>>
  %y = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32} : (tensor<?x64xf32>, !gain) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func private @quantize(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @mix(%stream: tensor<?x4x64xf32> {dsflash.name = "stream"}, %fn: !fn {dsflash.name = "fn"},
    %base: !base {dsflash.name = "base"}, %scale: !scale {dsflash.name = "scale"})
    -> (tensor<?x4xf32> {dsflash.name = "pre"}, tensor<?x4xf32> {dsflash.name = "post"},
        tensor<?x4x4xf32> {dsflash.name = "comb"}) {
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale {norm_eps = 1.0e-20 : f32, eps = 1.0e-6 : f32, iterations = 20 : i64}
    : (tensor<?x4x64xf32>, !fn, !base, !scale) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>)
  return %pre, %post, %comb : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>
}

func.func @experts(%x: tensor<?x64xf32> {dsflash.name = "x"}, %chosen: tensor<?x2xi32> {dsflash.name = "chosen"})
    -> (tensor<?x2x48xf32> {dsflash.name = "y"}) {
  %w = dsflash.param_ref @w1 : <[4, 48, 64], <e2m1, e8m0, [1, 32]>>
  %order, %offsets = dsflash.group_by_expert %chosen : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<5xi32>)
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !experts, tensor<?x2xi32>, tensor<5xi32>) -> tensor<?x2x48xf32>
  return %y : tensor<?x2x48xf32>
}

func.func @fixed(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  return %x : tensor<4x64xf32>
}
