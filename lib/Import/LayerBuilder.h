//===- LayerBuilder.h - The functions of the layer kinds --------*- C++ -*-===//

#ifndef DSFLASH_LIB_IMPORT_LAYERBUILDER_H
#define DSFLASH_LIB_IMPORT_LAYERBUILDER_H

#include "GraphBuilder.h"

namespace dsflash {

/// What tells the function of one layer from that of another.
struct LayerKind {
  LayerMode mode = LayerMode::Window;
  int64_t ratio = 0;
  bool keepsCandidates = false; ///< publishes candidate blocks
  bool readsCandidates = false; ///< chooses inside them

  std::string name() const;
};

LayerKind layerKind(const ModelConfig &config, int64_t layer);

/// The functions of backbone and draft layers, made on first use.
class LayerBuilder {
public:
  explicit LayerBuilder(GraphBuilder &b) : b(b) {}

  /// (layer, stream, pre, rope, sequence, position, extents, window
  ///  [, group_rope], [keys, [pending]], [global_kv], [selection],
  ///  [candidates]) ->
  /// (stream, pre, window [, global_kv, keys, [pending]] [, selection
  ///  [, candidates]])
  mlir::func::FuncOp backboneLayer(const LayerKind &kind);
  /// (stage, stream, pre, rope, sequence, position, extents, window) ->
  /// (stream, pre): a draft block through one draft layer.
  mlir::func::FuncOp draftLayer();
  /// (stage, x, rope, sequence, position, extents, window) -> (window):
  /// accepted positions into the ring of one draft layer.
  mlir::func::FuncOp draftContextLayer();
  /// (layer, stream, rows) -> (stream): the Engram in front of a layer. Tables
  /// differ in length: one function each.
  mlir::func::FuncOp engramLayer(int64_t layer);

private:
  using Family = GraphBuilder::Family;

  /// Arguments that every attention half takes.
  struct Attention {
    Family family;
    std::string prefix; ///< of probes: "layers.{l}." or empty
    mlir::Value rope;
    Rows rows;
  };

  mlir::Value collapse(mlir::Value stream, mlir::Value pre,
                       const Family &family, llvm::StringRef half);
  mlir::dsflash::HCMixOp mix(mlir::Value stream, const Family &family,
                             llvm::StringRef half);
  mlir::Value expand(mlir::Value output, mlir::Value stream,
                     mlir::dsflash::HCMixOp mix, llvm::StringRef half);

  /// Query rows and their low-rank, quantized source.
  std::pair<mlir::Value, mlir::Value> query(const Attention &a,
                                            mlir::Value quantized);
  mlir::Value windowKV(const Family &family, mlir::Value quantized,
                       mlir::Value rope);
  mlir::Value outputProjection(const Attention &a, mlir::Value context);
  /// Appends the latents of completed groups; gives KV, keys (and pending).
  llvm::SmallVector<mlir::Value>
  compress(const Attention &a, int64_t ratio, mlir::Value input,
           mlir::Value groupRope, mlir::Value globalKV, mlir::Value keys,
           mlir::Value pending);
  mlir::dsflash::IndexerOp select(const Attention &a, const LayerKind &kind,
                                  mlir::Value input, mlir::Value lowRank,
                                  mlir::Value keys, mlir::Value candidates);
  /// The expert half of a layer: stream and pre after it.
  std::pair<mlir::Value, mlir::Value> experts(const Family &family, bool probes,
                                              int64_t count, int64_t perToken,
                                              mlir::Value stream,
                                              mlir::Value pre);
  mlir::Value swiglu(mlir::Value gate, mlir::Value up, mlir::Value route,
                     llvm::StringRef name);
  mlir::Value probe(const Attention &a, mlir::Value value, llvm::StringRef name,
                    int64_t positionsPerRow = 1);

  GraphBuilder &b;
  llvm::StringMap<mlir::func::FuncOp> functions;
};

} // namespace dsflash

#endif // DSFLASH_LIB_IMPORT_LAYERBUILDER_H
