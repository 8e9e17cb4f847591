// A product of FP8 activations with FP8 weights, rounded to bf16 (SPEC section 2).
!w = !dsflash.weight<[128, 512], <e4m3, e8m0, [32, 32]>>
dsflash.param @w "w.weight" scale "w.scale" : !w
func.func @linear(%x: tensor<?x512xf32> {dsflash.name = "x", dsflash.dim = "rows"})
    -> (tensor<?x128xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %q = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "x"} : tensor<?x512xf32>
  %w = dsflash.param_ref @w : !w
  %y = dsflash.linear %q, %w {rounded} : (tensor<?x512xf32>, !w) -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
