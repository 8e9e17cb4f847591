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

    C1: the bias has one row of as many columns as there are experts.
    C2: experts and weights have the same extents and k is at most the number of experts.
    C3: temperature is positive.
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
    by slot; those of expert e are order[offsets[e]] to order[offsets[e + 1] - 1].

    Shapes: experts [n, k] to order [n, k] and offsets [experts + 1].

    C1: order has the type of experts.
    C2: offsets has a static extent of at least 2.
  }];
  let arguments = (ins DSFlash_IdTable:$experts);
  let results = (outs DSFlash_IdTable:$order, DSFlash_Ids:$offsets);
  let assemblyFormat = "$experts attr-dict `:` functional-type(operands, results)";
}

def DSFlash_ExpertLinearOp : DSFlash_RoundableOp<"expert_linear"> {
  let summary = "product of each slot with its expert's matrix";
  let description = [{
    result[row, choice] = W[expert of the slot] . x, where x is x[row] or
    x[row, choice]. One pass over the experts; one without slots costs nothing. Sums
    as `dsflash.linear`.

    Shapes: x [n, in] or [n, k, in], W [experts, out, in], order [n, k],
    offsets [experts + 1] to [n, k, out].

    C1: the weight has three extents, the first one less than that of offsets.
    C2: the input's features are the weight's columns.
    C3: the result's extents are the order's k and the weight's rows.
  }];
  let arguments = (ins DSFlash_Tensor:$input, DSFlash_WeightType:$weight,
    DSFlash_IdTable:$order, DSFlash_Ids:$offsets, UnitAttr:$rounded);
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

    C1: gate, up and result have the same type.
    C2: the route weights, if any, have the leading extents of the gate.
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

    C1: shared and result have the same type, with the features of routed.
  }];
  let arguments = (ins DSFlash_Tensor3:$routed, DSFlash_Tensor2:$shared, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$routed `,` $shared attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHMOEOPS_TD
