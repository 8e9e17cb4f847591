//===- DSFlashEnums.td - Enumerations of the dialect ----------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENUMS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENUMS_TD

include "mlir/IR/EnumAttr.td"

class DSFlash_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::dsflash";
  let genSpecializedAttr = 0;
}

/// SPEC section 1, layer plan.
def DSFlash_Mode : DSFlash_Enum<"Mode", "layer mode of CSA2", [
  I32EnumAttrCase<"Window", 0, "window">,
  I32EnumAttrCase<"Full", 1, "full">,
  I32EnumAttrCase<"Reindex", 2, "reindex">,
  I32EnumAttrCase<"Reuse", 3, "reuse">]>;

/// Element types as stored; the numbers are those of dsf_type.
def DSFlash_Element : DSFlash_Enum<"Element", "stored element type", [
  I32EnumAttrCase<"F32", 0, "f32">,
  I32EnumAttrCase<"BF16", 1, "bf16">,
  I32EnumAttrCase<"E4M3", 2, "e4m3">,
  I32EnumAttrCase<"E2M1", 3, "e2m1">,
  I32EnumAttrCase<"E8M0", 4, "e8m0">,
  I32EnumAttrCase<"I32", 5, "i32">,
  I32EnumAttrCase<"None", 7, "none">]>;

def DSFlash_Plane : DSFlash_Enum<"Plane", "plane of packed rows", [
  I32EnumAttrCase<"Payload", 0, "payload">,
  I32EnumAttrCase<"Scale", 1, "scale">,
  I32EnumAttrCase<"Position", 2, "position">]>;

/// What a check of a checked model looks for; the numbers are those of
/// dsf_check_kind.
def DSFlash_Check : DSFlash_Enum<"Check", "kind of a check", [
  I32EnumAttrCase<"NaN", 0, "nan">,
  I32EnumAttrCase<"Expert", 1, "expert">,
  I32EnumAttrCase<"Row", 2, "row">,
  I32EnumAttrCase<"Slot", 3, "slot">]>;

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENUMS_TD
