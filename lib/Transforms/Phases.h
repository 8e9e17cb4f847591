//===- Phases.h - What the derived entries share ----------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TRANSFORMS_PHASES_H
#define DSFLASH_LIB_TRANSFORMS_PHASES_H

#include "LayerVariants.h"

namespace mlir::dsflash {

/// A function in which encoder and decoder stand apart.
struct CEDFunction {
  func::FuncOp function;
  EncoderOp encoder;
  DecoderOp decoder;
  SmallVector<LayerOp> layers; ///< of the decoder, the KV source first

  Value getStream() { return encoder->getResult(0); }
  Value getPre() { return encoder->getResult(1); }
  /// An argument by its name in the ABI; null if there is none.
  Value getArgument(StringRef name);
};

/// The parts of a function, if it has phases (dsflash-derive-prompt says
/// when). Fails with a diagnostic where the encoder does not yield stream and
/// collapse weights.
FailureOr<std::optional<CEDFunction>> getCED(func::FuncOp function);

/// A copy of @forward behind it, named `name`, and its parts; nothing where it
/// has no phases.
FailureOr<std::optional<CEDFunction>> cloneForward(ModuleOp module,
                                                   StringRef name);

/// The value that a state has before encoder and decoder: an argument.
Value getFirstState(Value state);

/// Name and dimension of an entry's argument or result.
DictionaryAttr getEntryAttrs(MLIRContext *context, StringRef name,
                             StringRef dim);

/// Gives an entry these results, and drops what serves none of them.
void setResults(func::FuncOp function, ArrayRef<Value> values,
                ArrayRef<Attribute> attributes);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TRANSFORMS_PHASES_H
