// One entry that normalizes and rounds rows.
module {
  dsflash.param @norm "norm.weight" : !dsflash.weight<[1, 64], <bf16>>
  func.func @forward(%x: tensor<?x64xf32> {dsflash.name = "x", dsflash.dim = "rows"})
      -> (tensor<?x64xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
    %w = dsflash.param_ref @norm : <[1, 64], <bf16>>
    %0 = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32}
      : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
    %y = dsflash.round %0 {point = "attn.norm"} : tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}
