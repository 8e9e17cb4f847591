//===- BF16Patterns.cpp - bf16 by instructions or arithmetic --------------===//

#include "FormatPatterns.h"
#include "VectorHelpers.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// The upper half of each value.
struct ComputeNarrow : OpRewritePattern<NarrowBF16Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NarrowBF16Op op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType();
    Type i32 = withElement(type, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, i32, op.getValues());
    Value high = arith::ShRUIOp::create(b, bits, integer(b, i32, 16));
    Value half =
        arith::TruncIOp::create(b, withElement(type, b.getI16Type()), high);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, half);
    return success();
  }
};

struct ConvertNarrow : OpRewritePattern<NarrowBF16Op> {
  ConvertNarrow(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(NarrowBF16Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() % registerWords)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto part = VectorType::get(registerWords, b.getBF16Type());
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t i = 0; i < type.getNumElements(); i += registerWords) {
      Value low = extract(b, op.getValues(), i, registerLanes);
      Value high = extract(b, op.getValues(), i + registerLanes, registerLanes);
      Value both = callIntrinsic(b, "llvm.x86.avx512bf16.cvtne2ps2bf16.512",
                                 part, {high, low});
      result = insert(b, both, result, i);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ComputeDot : OpRewritePattern<DotBF16Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotBF16Op op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto f32 = cast<VectorType>(op.getType());
    auto i32 = f32.clone(b.getI32Type());
    auto getOdd = [&](Value pairs) {
      Value bits = vector::BitCastOp::create(b, i32, pairs);
      Value odd = arith::AndIOp::create(b, bits, integer(b, i32, -65536));
      return arith::BitcastOp::create(b, f32, odd);
    };
    auto getEven = [&](Value pairs) {
      Value bits = vector::BitCastOp::create(b, i32, pairs);
      Value even = arith::ShLIOp::create(b, bits, integer(b, i32, 16));
      return arith::BitcastOp::create(b, f32, even);
    };
    Value sum = math::FmaOp::create(b, getOdd(op.getA()), getOdd(op.getB()),
                                    op.getSum());
    rewriter.replaceOpWithNewOp<math::FmaOp>(op, getEven(op.getA()),
                                             getEven(op.getB()), sum);
    return success();
  }
};

struct CallDot : OpRewritePattern<DotBF16Op> {
  CallDot(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(DotBF16Op op,
                                PatternRewriter &rewriter) const override {
    if (cast<VectorType>(op.getType()).getNumElements() != registerLanes)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, callIntrinsic(b, "llvm.x86.avx512bf16.dpbf16ps.512",
                                         op.getType(),
                                         {op.getSum(), op.getA(), op.getB()}));
    return success();
  }
};

/// E4M3 to bf16 by way of f32, in parts of 32: LLVM takes larger vectors apart
/// element by element.
struct NarrowE4M3 : OpRewritePattern<DecodeE4M3Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DecodeE4M3Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto decode = [&](Value codes, Type type) -> Value {
      Value values =
          DecodeE4M3Op::create(b, withElement(type, b.getF32Type()), codes);
      return NarrowBF16Op::create(b, type, values);
    };
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() % registerWords) {
      rewriter.replaceOp(op, decode(op.getCodes(), op.getType()));
      return success();
    }
    auto part = VectorType::get(registerWords, b.getBF16Type());
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t i = 0; i < type.getNumElements(); i += registerWords)
      result =
          insert(b, decode(extract(b, op.getCodes(), i, registerWords), part),
                 result, i);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Integers of up to 32 bits to bf16. f32 holds 24 bits of them; of larger
/// numbers the last nine, far below what rounding to eight bits looks at,
/// become one that says whether they are all zero.
template <typename OpTy> struct IntegerToBF16 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    unsigned bits = getElementTypeOrSelf(from).getIntOrFloatBitWidth();
    if (!getElementTypeOrSelf(op.getType()).isBF16() || bits > 32)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getIn();
    if (bits == 32)
      x = foldLowBits(b, x);
    Value single = OpTy::create(b, withElement(from, b.getF32Type()), x);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }

private:
  /// x for |x| < 2^24, which keeps all its bits, else x with the lowest nine as
  /// 0 or 256.
  static Value foldLowBits(ImplicitLocOpBuilder &b, Value x) {
    auto constant = [&](int32_t value) {
      return integer(b, x.getType(), value);
    };
    Value low = arith::AndIOp::create(b, x, constant(0x1ff));
    Value any =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, low, constant(0));
    Value folded = arith::OrIOp::create(
        b, arith::AndIOp::create(b, x, constant(~0x1ff)),
        arith::SelectOp::create(b, any, constant(0x100), constant(0)));
    // Of signed numbers -2^24 to 2^24, in one unsigned comparison.
    constexpr bool isSigned = std::is_same_v<OpTy, arith::SIToFPOp>;
    Value shifted =
        isSigned ? arith::AddIOp::create(b, x, constant(1 << 24)).getResult()
                 : x;
    Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, shifted,
                                          constant(1 << (isSigned ? 25 : 24)));
    return arith::SelectOp::create(b, isSmall, x, folded);
  }
};

/// f32 of a code of E8M0; SPEC section 2.
Value decodeE8M0(ImplicitLocOpBuilder &b, Value code) {
  constexpr int32_t smallest = 0x00400000, quietNaN = 0x7fc00000;
  Type i32 = b.getI32Type();
  Value bits = arith::ExtUIOp::create(b, i32, code);
  Value shifted = arith::ShLIOp::create(b, bits, integer(b, i32, 23));
  Value power = arith::MaxSIOp::create(b, shifted, integer(b, i32, smallest));
  Value isNaN = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits,
                                      integer(b, i32, 255));
  Value chosen =
      arith::SelectOp::create(b, isNaN, integer(b, i32, quietNaN), power);
  return arith::BitcastOp::create(b, b.getF32Type(), chosen);
}

/// E2M1 blocks to bf16 by way of f32.
struct ComputeE2M1Blocks : OpRewritePattern<DecodeE2M1BlocksOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DecodeE2M1BlocksOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    int64_t words = type.getNumElements() / 4;
    auto f32 = VectorType::get(words, b.getF32Type());
    SmallVector<Value> scales;
    for (Value code : op.getScales())
      scales.append(words / op.getScales().size(), decodeE8M0(b, code));
    Value scale = vector::FromElementsOp::create(b, f32, scales);
    Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t i = 0; i < 4; ++i) {
      Value codes = arith::ExtUIOp::create(b, f32.clone(b.getI32Type()),
                                           shiftWords(b, op.getCodes(), 4 * i));
      Value values = arith::MulFOp::create(
          b, DecodeE2M1Op::create(b, f32, codes, one), scale);
      Value part = NarrowBF16Op::create(b, f32.clone(b.getBF16Type()), values);
      result = insert(b, part, result, i * words);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void mlir::dsflash::populateBF16Patterns(RewritePatternSet &patterns,
                                         bool hasDot) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ComputeNarrow, ComputeDot, NarrowE4M3, ComputeE2M1Blocks,
               IntegerToBF16<arith::SIToFPOp>, IntegerToBF16<arith::UIToFPOp>>(
      context);
  if (hasDot)
    patterns.add<ConvertNarrow, CallDot>(context);
}
