//===- GraphBuilder.h - Writing model operations ----------------*- C++ -*-===//
//
// Types, parameters and one-line operations for the code that writes a model:
// the vocabulary in which LayerBuilder and ModelBuilder say what SPEC says.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_IMPORT_GRAPHBUILDER_H
#define DSFLASH_LIB_IMPORT_GRAPHBUILDER_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Model/ModelConfig.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace dsflash {

/// The rows of a call: which sequence and position each one is, and the rows of
/// each sequence.
struct Rows {
  mlir::Value sequence, position, extents;
};

/// What a product is summed in: f64 where its result decides a code of a cache
/// or a choice.
enum class Accumulation { F32, F64 };

class GraphBuilder : public mlir::ImplicitLocOpBuilder {
public:
  GraphBuilder(mlir::ModuleOp module, const ModelConfig &config);

  const ModelConfig &config;
  mlir::ModuleOp module;

  //===--- types
  //------------------------------------------------------------===//
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> rowExtents);
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> rowExtents,
                                mlir::Type element);
  mlir::RankedTensorType ids() { return tensor({}, getI32Type()); }
  mlir::RankedTensorType streamType();
  mlir::dsflash::FormatAttr format(mlir::dsflash::Element element);
  mlir::dsflash::FormatAttr format(mlir::dsflash::Element element,
                                   mlir::dsflash::Element scale,
                                   int64_t blockRows, int64_t blockColumns);
  mlir::dsflash::FormatAttr activationFormat();
  mlir::dsflash::FormatAttr indexFormat();
  mlir::dsflash::WindowType windowType();
  mlir::dsflash::GlobalKVType globalKVType(int64_t ratio);
  mlir::dsflash::IndexKeysType indexKeysType(int64_t ratio);
  mlir::dsflash::PendingType pendingType(int64_t ratio);
  /// Positions that can be undone: what a rejected draft block leaves behind.
  int64_t slack() const { return config.dspark_block_size; }

  //===--- parameters
  //-------------------------------------------------------===//
  /// References to the layers of one family, "layers" or "mtp", whose names
  /// start with `prefix`; `layer` is the layer's number in that family.
  struct Family {
    llvm::StringRef prefix;
    mlir::Value layer;
  };
  /// The parameters of the checkpoint, each named "<prefix>.{l}.<name>", or
  /// "<name>" without a family. Declared on first use.
  mlir::Value bf16(const Family &family, llvm::StringRef name,
                   llvm::ArrayRef<int64_t> shape);
  mlir::Value f32(const Family &family, llvm::StringRef name,
                  llvm::ArrayRef<int64_t> shape);
  mlir::Value fp8(const Family &family, llvm::StringRef name, int64_t rows,
                  int64_t columns);
  /// FP4 weights of all experts; the name holds "{e}".
  mlir::Value fp4(const Family &family, llvm::StringRef name, int64_t experts,
                  int64_t rows, int64_t columns);
  mlir::Value engramTable(const Family &family, int64_t layer);
  mlir::Value tokenMap();

  //===--- operations
  //-------------------------------------------------------===//
  mlir::Value layerIndex(int64_t layer);
  mlir::Value round(mlir::Value value, llvm::StringRef point);
  mlir::Value quantize(mlir::Value value, llvm::StringRef point);
  mlir::Value quantize(mlir::Value value, mlir::dsflash::FormatAttr format,
                       llvm::StringRef point);
  mlir::Value norm(mlir::Value value, mlir::Value weight,
                   llvm::StringRef point);
  /// W x, not rounded.
  mlir::Value product(mlir::Value value, mlir::Value weight,
                      Accumulation accumulation = Accumulation::F32);
  /// r(W x)
  mlir::Value linear(mlir::Value value, mlir::Value weight,
                     llvm::StringRef point,
                     Accumulation accumulation = Accumulation::F32);
  /// r(rotated x), heads of `headDim`
  mlir::Value rotate(mlir::Value value, mlir::Value table, int64_t headDim,
                     llvm::StringRef point, bool inverse = false);
  mlir::Value ropeTable(mlir::Value position, bool compressed,
                        int64_t ratio = 1);
  mlir::Value probe(mlir::Value value, llvm::StringRef name,
                    mlir::Value layer = nullptr, int64_t positionsPerRow = 1);
  mlir::FloatAttr f32Attr(double value) { return getF32FloatAttr(value); }

  /// Starts a function at the end of the module; the builder stands in it.
  mlir::func::FuncOp startFunction(llvm::StringRef name, mlir::TypeRange inputs,
                                   mlir::TypeRange results, bool exported);

private:
  mlir::Value param(const Family &family, llvm::StringRef name,
                    mlir::dsflash::WeightType type);
  /// The layers of a family that own the tensor, from the config.
  llvm::SmallVector<int32_t> owners(llvm::StringRef prefix,
                                    llvm::StringRef name);

  llvm::StringMap<mlir::dsflash::ParamOp> params;
  mlir::dsflash::ParamOp lastParam;
  /// Suffix of a tensor name to the layers that own it, by family.
  llvm::StringMap<llvm::SmallVector<int32_t>> layersOf;
};

} // namespace dsflash

#endif // DSFLASH_LIB_IMPORT_GRAPHBUILDER_H
