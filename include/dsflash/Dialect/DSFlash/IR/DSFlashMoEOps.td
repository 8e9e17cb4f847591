//===- DSFlashMoEOps.td - Router and experts ------------------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHMOEOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHMOEOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_RouterOp : DSFlash_ModelOp<"router"> {
  let summary = "choose and weigh experts";
  let description = [{
    s = sqrt(softplus(logits / temperature)), f32; the best k of s + bias, best
    first, ties to the lower id; weights are s there, divided by (their sum + 1e-20)
    when `normalize` is set and k > 1, times `scaling` (SPEC section 3, router). Ids lie in
    [0, experts) whatever the logits; NaN counts as the smallest score.

    Shapes: logits [n, experts], bias [1, experts] to experts [n, k] and
    weights [n, k].

    - C1: the bias has one row of as many columns as there are experts.
    - C2: experts and weights have the same extents and k is at most the number of experts.
    - C3: temperature is finite and positive, scaling finite.

    Example:

    ```mlir
    %experts, %weights = dsflash.router %logits, %bias
        {normalize, scaling = 1.500000e+00 : f32, temperature = 1.000000e+00 : f32}
      : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$logits, DSFlash_WeightType:$bias,
    F32Attr:$temperature, F32Attr:$scaling, UnitAttr:$normalize);
  let results = (outs DSFlash_IdTable:$experts, DSFlash_Tensor2:$weights);
  let assemblyFormat = "$logits `,` $bias attr-dict `:` functional-type(operands, results)";
}

def DSFlash_GroupByExpertOp : DSFlash_ModelOp<"group_by_expert"> {
  let summary = "slots in the order of their experts";
  let description = [{
    A slot is row * k + choice. `order` lists all slots sorted by expert, then
    by slot; those of expert e are order[offsets[e]] to order[offsets[e + 1] - 1], so that an
    expert's matrices are read once a call (SPEC section 3, expert).

    Shapes: experts [n, k] to order [n, k] and offsets [experts + 1].

    - C1: order has the type of experts.
    - C2: offsets has a static extent of 2 to 2^31 - 1.

    Example:

    ```mlir
    %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<17xi32>)
    ```
  }];
  let arguments = (ins DSFlash_IdTable:$experts);
  let results = (outs DSFlash_IdTable:$order, DSFlash_Offsets:$offsets);
  let assemblyFormat = "$experts attr-dict `:` functional-type(operands, results)";
}

def DSFlash_ExpertLinearOp : DSFlash_RoundableOp<"expert_linear"> {
  let summary = "product of each slot with its expert's matrix";
  let description = [{
    result[row, choice] = W[expert of the slot] . x, where x is x[row] or
    x[row, choice]. One pass over the experts; one without slots costs nothing. Sums
    as `dsflash.linear` (SPEC section 3, expert).

    Shapes: x [n, in] or [n, k, in], W [experts, out, in], order [n, k],
    offsets [experts + 1] to [n, k, out].

    - C1: the weight has three extents, the first one less than that of offsets, and is not i32.
    - C2: the input's features are the weight's columns and its choices, if any, the order's k.
    - C3: the result's extents are the order's k and the weight's rows.

    Example:

    ```mlir
    %y = dsflash.expert_linear %x, %w order %order, %offsets
      : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>, tensor<?x2xi32>, tensor<17xi32>)
      -> tensor<?x2x32xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor:$input, DSFlash_WeightType:$weight,
    DSFlash_IdTable:$order, DSFlash_Offsets:$offsets, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor3:$result);
  let assemblyFormat = "$input `,` $weight `order` $order `,` $offsets attr-dict `:` functional-type(operands, results)";
}

def DSFlash_SwiGLUOp : DSFlash_RoundableOp<"swiglu"> {
  let summary = "gated unit with clamps and route weight";
  let description = [{
    u = clamp(up, -limit, limit), g = min(gate, limit) where limit > 0; the
    result is route * (g * sigmoid(g) * u) (SPEC section 3, expert: the route
    weight comes before the quantizer of w2).

    Shapes: gate and up [n, inner] or [n, k, inner], route [n, k] to the same.

    - C1: gate, up and result have the same type.
    - C2: the route weights, if any, have the leading extents of the gate.

    Example:

    ```mlir
    %y = dsflash.swiglu %gate, %up route %route {limit = 1.000000e+01 : f32}
      : (tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2xf32>) -> tensor<?x2x32xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor:$gate, DSFlash_Tensor:$up,
    Optional<DSFlash_Tensor2>:$route, F32Attr:$limit, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor:$result);
  let assemblyFormat = "$gate `,` $up (`route` $route^)? attr-dict `:` functional-type(operands, results)";
}

def DSFlash_CombineOp : DSFlash_RoundableOp<"combine"> {
  let summary = "sum of the routed experts and the shared one";
  let description = [{
    result = (sum over choices of routed, in f32, in the order of the choices) +
    shared (SPEC section 3, expert).

    Shapes: routed [n, k, d], shared [n, d] to [n, d].

    - C1: shared and result have the same type, with the features of routed.

    Example:

    ```mlir
    %y = dsflash.combine %routed, %shared : (tensor<?x2x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$routed, DSFlash_Tensor2:$shared, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$routed `,` $shared attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHMOEOPS_TD
