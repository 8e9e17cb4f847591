//===- ModelBuilder.h - From a config to model IR ---------------*- C++ -*-===//
//
// Builds the dsflash module of a config: one function for each kind of layer
// and one exported entry for each thing that the runtime asks for (forward,
// draft_context, draft, markov; ModuleABI.h). Weights are symbols; no byte of a
// checkpoint is read.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_IMPORT_MODELBUILDER_H
#define DSFLASH_IMPORT_MODELBUILDER_H

#include "dsflash/Model/ModelConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dsflash {

/// The model of a checked config in reference numerics, with every rounding
/// point, quantizer and observation point in place.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext *context,
                                             const ModelConfig &config);

} // namespace dsflash

#endif // DSFLASH_IMPORT_MODELBUILDER_H
