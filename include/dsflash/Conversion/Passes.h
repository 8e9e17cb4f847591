//===- Passes.h - Conversions out of the dsflash dialect --------*- C++ -*-===//

#ifndef DSFLASH_CONVERSION_PASSES_H
#define DSFLASH_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dsflash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dsflash/Conversion/Passes.h.inc"

} // namespace mlir::dsflash

#endif // DSFLASH_CONVERSION_PASSES_H
