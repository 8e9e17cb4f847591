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

/// A tensor whose first extent is dynamic and whose others are static.
class DSFlash_RowTensor<list<Type> elements, list<int> ranks> : ConfinedType<
  TensorRankOf<elements, ranks>,
  [CPred<"::mlir::dsflash::hasRowShape(::llvm::cast<::mlir::RankedTensorType>($_self))">],
  TensorRankOf<elements, ranks>.summary # " with dynamic rows and other extents static",
  "::mlir::RankedTensorType">;

def DSFlash_Tensor1 : DSFlash_RowTensor<[F32], [1]>;
def DSFlash_Tensor2 : DSFlash_RowTensor<[F32], [2]>;
def DSFlash_Tensor3 : DSFlash_RowTensor<[F32], [3]>;
def DSFlash_Tensor : DSFlash_RowTensor<[F32], [2, 3]>;
def DSFlash_AnyRows : DSFlash_RowTensor<[F32, I32, I64], [1, 2, 3]>;
def DSFlash_Ids : DSFlash_RowTensor<[I32], [1]>;
def DSFlash_IdTable : DSFlash_RowTensor<[I32], [2]>;
def DSFlash_RowIds : DSFlash_RowTensor<[I64], [2]>;
/// First row and number of rows of each sequence.
def DSFlash_Extents : ConfinedType<DSFlash_IdTable,
  [CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(1) == 2">],
  "2D tensor of 32-bit signless integer values with the extents [?, 2]">;
/// Where each expert's slots start.
def DSFlash_Offsets : TensorRankOf<[I32], [1]>;

/// An operation whose first result may be rounded to bf16 as it is stored.
class DSFlash_RoundableOp<string mnemonic, list<Trait> traits = []>
    : DSFlash_ModelOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<DSFlash_RoundableOpInterface>], traits)>;

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPBASE_TD
