//===- DSFlashInterfaces.td - Interfaces of the dialect -------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHINTERFACES_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHINTERFACES_TD

include "mlir/IR/OpBase.td"

def DSFlash_StateTypeInterface : TypeInterface<"StateTypeInterface"> {
  let cppNamespace = "::mlir::dsflash";
  let description = [{
    State of one sequence as packed rows. A value of such a type names the
    state of all sequences of a call; the rows of one of them are reached with
    `dsflash.state_data`.
  }];
  let methods = [
    InterfaceMethod<"Rows reserved for one sequence.", "int64_t", "getRowCount">,
    InterfaceMethod<"Elements of one row.", "int64_t", "getRowElements">,
    InterfaceMethod<"Positions that one row stands for; 0 when the number of "
                    "rows does not depend on the length.",
                    "int64_t", "getPositionsPerRow">,
    InterfaceMethod<"Format of a row.", "::mlir::dsflash::FormatAttr", "getRowFormat">,
  ];
}

def DSFlash_RoundableOpInterface : OpInterface<"RoundableOpInterface"> {
  let cppNamespace = "::mlir::dsflash";
  let description = [{
    An operation whose first result can be rounded to bf16 as it is stored.
  }];
  let methods = [
    InterfaceMethod<"Whether the first result is rounded.", "bool", "isRounded",
                    (ins), "return $_op.getRounded();">,
    InterfaceMethod<"Rounds the first result from now on.", "void",
                    "markRounded", (ins), "$_op.setRounded(true);">,
  ];
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHINTERFACES_TD
