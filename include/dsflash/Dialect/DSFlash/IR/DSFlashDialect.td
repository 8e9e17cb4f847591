//===- DSFlashDialect.td - The dialect and the base of its operations -----===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DSFlash_Dialect : Dialect {
  let name = "dsflash";
  let cppNamespace = "::mlir::dsflash";
  let summary = "The DeepSeek-V4.1-Flash architecture";
  let description = [{
    Two levels live here.

    The *model level* states what the paper names, on tensors with value
    semantics: mHC, CSA2 with its layer modes, the compressor and the indexer,
    the router and its experts, Engram, DSpark. `n` is the number of rows of a
    call: (sequence, position) pairs, the only thing that changes from call to
    call besides the state. Rounding points (`dsflash.round`) and quantizers
    (`dsflash.quantize`, the format of a state) are operations and types of
    their own, so that a numerics is a pass over the IR.

    The *kernel level* (`dsflash.dispatch`, `dsflash.weight_data`,
    `dsflash.state_data`) is what the model level becomes: destination-passing
    launches of kernel functions that read packed weights and state in place.

    A tensor of the model level has a dynamic first extent (rows, sequences or
    chosen rows); all other extents are static, 1 to 2^31 - 1, and so are the
    extents of weights and states. Features and dims count elements, positions
    count tokens from 0 on, eps and factors are plain numbers. A weight that is
    no matrix of a product is f32 or bf16.

    Constraints are numbered (C1, C2, ...) in each description; the verifier
    names the number.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class DSFlash_Op<string mnemonic, list<Trait> traits = []>
    : Op<DSFlash_Dialect, mnemonic, traits>;

/// A model-level operation: value semantics, no effects.
class DSFlash_ModelOp<string mnemonic, list<Trait> traits = []>
    : DSFlash_Op<mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_TD
