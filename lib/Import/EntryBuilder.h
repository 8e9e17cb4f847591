//===- EntryBuilder.h - The entries of a model ------------------*- C++ -*-===//
//
// forward runs new rows through the backbone; draft_context puts accepted
// positions into the draft rings; draft runs a block of noise through the draft
// layers; markov turns its logits into those of one drafted position.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_IMPORT_ENTRYBUILDER_H
#define DSFLASH_LIB_IMPORT_ENTRYBUILDER_H

#include "LayerBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace dsflash {

/// Collects an entry's signature: what each argument or result is called in
/// the ABI and what its leading extent counts.
class Signature {
public:
  explicit Signature(GraphBuilder &b) : b(b) {}

  /// Adds an argument or result; gives its number.
  size_t add(mlir::Type type, const llvm::Twine &name,
             llvm::StringRef dim = "");
  /// Adds the arguments that say which rows a call has; gives the number of the
  /// first.
  size_t addRows();

  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Attribute> dictionaries;

private:
  GraphBuilder &b;
};

/// Writes the entries into a module.
class EntryBuilder {
public:
  EntryBuilder(mlir::ModuleOp module, const ModelConfig &config)
      : c(config), b(module, config), layers(b) {}

  void buildForward();
  void buildDraftContext();
  void buildDraft();
  void buildMarkov();

private:
  /// The state of one owner of global KV.
  struct Owner {
    mlir::Value globalKV, keys, pending;
  };
  /// What travels along the backbone.
  struct Stack {
    mlir::Value stream, pre, window, features;
    llvm::MapVector<int64_t, Owner> owners;
    llvm::DenseMap<int64_t, mlir::Value> selections; ///< by index source
    mlir::Value candidates;
  };
  /// Inputs that every layer of a call shares.
  struct Shared {
    Rows rows;
    mlir::Value localRope, rope, groupRope;
    llvm::DenseMap<int64_t, mlir::Value> engramRows;
  };

  mlir::func::FuncOp startEntry(llvm::StringRef name, const Signature &inputs,
                                const Signature &results);
  /// The arguments that Signature::addRows added.
  static Rows addedRows(mlir::func::FuncOp entry, size_t first);
  /// Input of a head, before its norm.
  mlir::Value collapseHead(mlir::Value stream, mlir::Value pre);
  mlir::Type featureType();
  bool drafts() const { return c.draftLayers() > 0; }
  /// A tensor of the last draft layer, which holds the draft heads.
  std::string lastDraft(llvm::StringRef name) const;

  /// The Engram in front of a layer, if there is one.
  void runEngram(int64_t layer, const Shared &shared, Stack &stack);
  void runLayer(int64_t layer, const Shared &shared, Stack &stack);
  /// Runs layers [begin, end) inside an encoder or decoder operation. An Engram
  /// is with the layer before it: that of the decoder's first layer, whose
  /// global KV every prompt token needs, with the encoder.
  template <typename RegionOp>
  void runStack(int64_t begin, int64_t end, const Shared &shared, Stack &stack);
  /// The values that leave an encoder or decoder, in order.
  static llvm::SmallVector<mlir::Value *> carried(Stack &stack);

  const ModelConfig &c;
  GraphBuilder b;
  LayerBuilder layers;
};

} // namespace dsflash

#endif // DSFLASH_LIB_IMPORT_ENTRYBUILDER_H
