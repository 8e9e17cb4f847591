//===- LowerMath.cpp - Transcendental functions to arithmetic -------------===//

#include "FormatPatterns.h"
#include "MathFunctions.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/GreedyConfig.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }
bool isF64(Type type) { return getElementTypeOrSelf(type).isF64(); }

template <typename OpTy, Value (Arithmetic::*function)(Value)>
struct Approximate : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool isExpOfF64 = std::is_same_v<OpTy, math::ExpOp> && isF64(op.getType());
    if (!isF32(op.getType()) && !isExpOfF64)
      return failure();
    Arithmetic arithmetic(rewriter, op);
    rewriter.replaceOp(op, (arithmetic.*function)(op.getOperand()));
    return success();
  }
};

/// Calls a function of libm, for each element of a vector on its own.
template <typename OpTy> struct CallLibm : OpRewritePattern<OpTy> {
  CallLibm(MLIRContext *context, StringRef function)
      : OpRewritePattern<OpTy>(context), function(function) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!isF32(op.getType()) || (vector && vector.getRank() != 1))
      return failure();
    LLVM::LLVMFuncOp callee = declare(op, rewriter);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto call = [&](Value x) {
      return LLVM::CallOp::create(b, callee, x).getResult();
    };
    if (!vector) {
      rewriter.replaceOp(op, call(op.getOperand()));
      return success();
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(
          call(vector::ExtractOp::create(b, op.getOperand(), i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, elements);
    return success();
  }

private:
  /// "nobuiltin" keeps LLVM from merging calls into others of its own choice.
  LLVM::LLVMFuncOp declare(Operation *op, PatternRewriter &rewriter) const {
    auto module = op->getParentOfType<ModuleOp>();
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(function))
      return known;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    Type f32 = rewriter.getF32Type();
    auto callee =
        LLVM::LLVMFuncOp::create(rewriter, op->getLoc(), function,
                                 LLVM::LLVMFunctionType::get(f32, {f32}));
    callee.setPassthroughAttr(rewriter.getStrArrayAttr({"nobuiltin"}));
    return callee;
  }

  StringRef function;
};

template <typename OpTy> struct SplitMultiplyAdd : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value product = arith::MulFOp::create(rewriter, op.getLoc(),
                                          op->getOperand(0), op->getOperand(1));
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op->getOperand(2));
    return success();
  }
};

struct ComputeE2M1 : OpRewritePattern<DecodeE2M1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DecodeE2M1Op op,
                                PatternRewriter &rewriter) const override {
    Arithmetic arithmetic(rewriter, op);
    rewriter.replaceOp(op, arithmetic.decodeE2M1(op.getCodes(), op.getScale()));
    return success();
  }
};

struct ComputeE4M3 : OpRewritePattern<DecodeE4M3Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DecodeE4M3Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Arithmetic arithmetic(rewriter, op);
    rewriter.replaceOp(op, arithmetic.decodeE4M3(op.getCodes()));
    return success();
  }
};

struct LowerMath : dsflash::impl::LowerMathPassBase<LowerMath> {
  using Base::Base;

  void runOnOperation() override {
    if (!llvm::is_contained({0, 8, 16}, lookUpLanes)) {
      getOperation()->emitError()
          << "expected look-up-lanes of 0, 8 or 16 but got "
          << lookUpLanes.getValue();
      return signalPassFailure();
    }
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<Approximate<math::ExpOp, &Arithmetic::exp>,
                 Approximate<math::LogOp, &Arithmetic::log>,
                 Approximate<math::Log1pOp, &Arithmetic::log1p>>(context);
    if (useLibm) {
      patterns.add<CallLibm<math::SinOp>>(context, "sinf");
      patterns.add<CallLibm<math::CosOp>>(context, "cosf");
    } else {
      patterns.add<Approximate<math::SinOp, &Arithmetic::sin>,
                   Approximate<math::CosOp, &Arithmetic::cos>>(context);
    }
    arith::populateExpandBFloat16Patterns(patterns);
    patterns.add<ComputeE2M1, ComputeE4M3>(context);
    populateBF16Patterns(patterns, dotBF16);
    populateLookUpPatterns(patterns, {lookUpLanes, lookUpWords, lookUpBytes});
    if (!fuseMultiplyAdd)
      patterns
          .add<SplitMultiplyAdd<math::FmaOp>, SplitMultiplyAdd<vector::FMAOp>>(
              context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     getStructuredConfig())))
      signalPassFailure();
  }
};

} // namespace
