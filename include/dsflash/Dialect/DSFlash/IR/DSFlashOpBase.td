//===- DSFlashOpBase.td - What the operation files share ------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPBASE_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPBASE_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashAttrs.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashInterfaces.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DSFlash_Tensor1 : TensorRankOf<[F32], [1]>;
def DSFlash_Tensor2 : TensorRankOf<[F32], [2]>;
def DSFlash_Tensor3 : TensorRankOf<[F32], [3]>;
def DSFlash_Tensor : TensorRankOf<[F32], [1, 2, 3]>;
def DSFlash_Ids : TensorRankOf<[I32], [1]>;
def DSFlash_IdTable : TensorRankOf<[I32], [2]>;
def DSFlash_RowIds : TensorRankOf<[I64], [2]>;

/// An operation whose first result may be rounded to bf16 as it is stored.
class DSFlash_RoundableOp<string mnemonic, list<Trait> traits = []>
    : DSFlash_ModelOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<DSFlash_RoundableOpInterface>], traits)>;

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPBASE_TD
