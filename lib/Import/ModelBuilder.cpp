//===- ModelBuilder.cpp - The model IR of a config ------------------------===//

#include "dsflash/Import/ModelBuilder.h"
#include "EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

OwningOpRef<ModuleOp> buildModel(MLIRContext *context,
                                 const ModelConfig &config) {
  context->loadDialect<DSFlashDialect, func::FuncDialect, arith::ArithDialect,
                       tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(context), "model");
  Builder attributes(context);
  auto set = [&](StringRef name, int64_t value) {
    (*module)->setAttr(("dsflash." + name).str(),
                       attributes.getI64IntegerAttr(value));
  };
  bool drafts = config.draftLayers() > 0;
  set("vocab_size", config.vocab_size);
  set("max_positions", config.max_position_embeddings);
  set("draft_block", drafts ? config.dspark_block_size : 0);
  set("look_back",
      config.engram_layer_ids.empty() ? 0 : config.engram_max_ngram_size - 1);
  set("sliding_window", config.sliding_window);

  EntryBuilder builder(*module, config);
  builder.buildForward();
  if (drafts) {
    builder.buildDraftContext();
    builder.buildDraft();
    builder.buildMarkov();
  }
  return module;
}

} // namespace dsflash
