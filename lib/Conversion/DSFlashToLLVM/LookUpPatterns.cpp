//===- LookUpPatterns.cpp - Small floats by look-ups in registers ---------===//

#include "FormatPatterns.h"
#include "VectorHelpers.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <array>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

constexpr float valuesOfE2M1[] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,
                                  4.0f,  6.0f,  -0.0f, -0.5f, -1.0f, -1.5f,
                                  -2.0f, -3.0f, -4.0f, -6.0f};

/// Looks 128 codes up, 32 at a time, in a table of the values that each of four
/// scales makes: 16 words from memory for each.
struct LookUpE2M1Blocks : OpRewritePattern<DecodeE2M1BlocksOp> {
  LookUpE2M1Blocks(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(DecodeE2M1BlocksOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(op.getType());
    constexpr int64_t blocks = 4;
    if (op.getScales().size() != blocks ||
        type.getNumElements() != 4 * registerWords)
      return failure();
    memref::GlobalOp values =
        getValues(op->getParentOfType<ModuleOp>(), rewriter);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value memory =
        memref::GetGlobalOp::create(b, values.getType(), values.getSymName());
    auto words = VectorType::get(registerWords, b.getI16Type());
    auto ofScale = VectorType::get(codes, b.getI16Type());
    Value zero = arith::ConstantIndexOp::create(b, 0);
    SmallVector<Value> parts;
    for (Value scale : op.getScales())
      parts.push_back(vector::LoadOp::create(
          b, ofScale, memory,
          ValueRange{arith::IndexCastUIOp::create(b, b.getIndexType(), scale),
                     zero}));
    auto both = llvm::to_vector(llvm::seq<int64_t>(0, registerWords));
    Value low = vector::ShuffleOp::create(b, parts[0], parts[1], both);
    Value high = vector::ShuffleOp::create(b, parts[2], parts[3], both);
    SmallVector<int16_t> firsts;
    for (int64_t word = 0; word < registerWords; ++word)
      firsts.push_back(word / (registerWords / blocks) * codes);
    Value first = arith::ConstantOp::create(
        b, DenseElementsAttr::get(words, ArrayRef<int16_t>(firsts)));
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t i = 0; i < 4; ++i) {
      Value code = arith::AndIOp::create(b, shiftWords(b, op.getCodes(), 4 * i),
                                         integer(b, words, codes - 1));
      Value place = arith::OrIOp::create(b, code, first);
      Value part = callIntrinsic(b, "llvm.x86.avx512.vpermi2var.hi.512", words,
                                 {low, place, high});
      result = insert(
          b, arith::BitcastOp::create(b, words.clone(b.getBF16Type()), part),
          result, i * registerWords);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static constexpr int64_t codes = 16;

  /// The bf16 bits of all codes times all powers of two of E8M0.
  static memref::GlobalOp getValues(ModuleOp module,
                                    PatternRewriter &rewriter) {
    constexpr StringLiteral name = "dsflash_e2m1_values";
    constexpr int64_t scales = 256, nan = 255, bias = 127;
    if (auto known = module.lookupSymbol<memref::GlobalOp>(name))
      return known;
    SmallVector<int16_t> bits;
    for (int64_t scale = 0; scale < scales; ++scale)
      for (float value : valuesOfE2M1) {
        float product = scale == nan ? std::numeric_limits<float>::quiet_NaN()
                                     : std::ldexp(value, scale - bias);
        bits.push_back(llvm::bit_cast<uint32_t>(product) >> 16);
      }
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    auto type = MemRefType::get({scales, codes}, rewriter.getI16Type());
    auto elements = DenseElementsAttr::get(
        RankedTensorType::get(type.getShape(), type.getElementType()),
        ArrayRef<int16_t>(bits));
    return memref::GlobalOp::create(
        rewriter, module.getLoc(), rewriter.getStringAttr(name),
        rewriter.getStringAttr("private"), TypeAttr::get(type), elements,
        /*constant=*/rewriter.getUnitAttr(),
        /*alignment=*/rewriter.getI64IntegerAttr(64));
  }
};

/// Looks up the two bytes of the bf16 value of 64 codes, each in two registers
/// of 64 bytes. They stay bf16, or become f32 by a shift or a mask of pairs.
struct LookUpE4M3 : OpRewritePattern<DecodeE4M3Op> {
  LookUpE4M3(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(DecodeE4M3Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() != registerBytes)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    bool isBF16 = type.getElementType().isBF16();
    Value codes = vector::ShuffleOp::create(b, op.getCodes(), op.getCodes(),
                                            getOrder(isBF16));
    Value low = lookUp(b, codes, /*shift=*/0);
    Value high = lookUp(b, codes, /*shift=*/8);
    Value sign = arith::AndIOp::create(b, codes, bytes(b, int8_t(-128)));
    high = arith::OrIOp::create(b, high, sign);

    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t half : {0, 1}) {
      // The bytes of a value side by side, in each lane of 16 bytes.
      SmallVector<int64_t> pairs;
      for (int64_t lane = 0; lane < 4; ++lane)
        for (int64_t i = 0; i < 8; ++i) {
          int64_t at = 16 * lane + 8 * half + i;
          pairs.append({at, at + registerBytes});
        }
      Value both = vector::ShuffleOp::create(b, low, high, pairs);
      if (isBF16) {
        auto part = VectorType::get(registerBytes / 2, b.getBF16Type());
        result = insert(b, vector::BitCastOp::create(b, part, both), result,
                        half * registerBytes / 2);
        continue;
      }
      auto words = VectorType::get(16, b.getI32Type());
      Value bits = vector::BitCastOp::create(b, words, both);
      auto constant = [&](int32_t value) {
        return arith::ConstantOp::create(b,
                                         DenseElementsAttr::get(words, value));
      };
      Value even = arith::ShLIOp::create(b, bits, constant(16));
      Value odd = arith::AndIOp::create(b, bits, constant(-65536));
      for (auto [i, part] : llvm::enumerate(std::array{even, odd}))
        result = insert(
            b, arith::BitcastOp::create(b, words.clone(b.getF32Type()), part),
            result, 16 * (2 * half + int64_t(i)));
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static constexpr int64_t registerBytes = 64;

  /// Where the codes must lie in the four lanes of a register, whose halves are
  /// interleaved with those of another one, so that results are in order.
  static SmallVector<int64_t> getOrder(bool isBF16) {
    SmallVector<int64_t> order(registerBytes);
    for (int64_t code = 0; code < registerBytes; ++code) {
      int64_t half = code / 32, lane = code / 8 % 4, at = code % 8;
      if (!isBF16) {
        // Even values of half h are codes 32 h to 32 h + 15, odd ones those
        // behind.
        lane = code / 4 % 4;
        at = 2 * (code % 4) + code / 16 % 2;
      }
      order[16 * lane + 8 * half + at] = code;
    }
    return order;
  }

  template <typename T> static Value bytes(ImplicitLocOpBuilder &b, T values) {
    auto type = VectorType::get(registerBytes, b.getI8Type());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, values));
  }

  /// The bf16 value of a code without sign.
  static uint16_t getMagnitude(unsigned code) {
    constexpr unsigned nan = 0x7f;
    if (code == nan)
      return 0x7ff0;
    int exponent = code >> 3, mantissa = code & 7;
    float value = exponent ? std::ldexp(8.0f + mantissa, exponent - 10)
                           : std::ldexp(float(mantissa), -9);
    return llvm::bit_cast<uint32_t>(value) >> 16;
  }

  /// The bits from `shift` on of the magnitude of each code.
  static Value lookUp(ImplicitLocOpBuilder &b, Value codes, int shift) {
    auto getTable = [&](unsigned first) {
      SmallVector<int8_t> table;
      for (unsigned code = first; code < first + registerBytes; ++code)
        table.push_back(int8_t(getMagnitude(code) >> shift));
      return bytes(b, ArrayRef<int8_t>(table));
    };
    return LLVM::CallIntrinsicOp::create(
               b, codes.getType(),
               b.getStringAttr("llvm.x86.avx512.vpermi2var.qi.512"),
               ValueRange{getTable(0), codes, getTable(registerBytes)})
        .getResult(0);
  }
};

/// Looks the values up in a register of 16 values, or of 8 magnitudes.
struct LookUpE2M1 : OpRewritePattern<DecodeE2M1Op> {
  LookUpE2M1(MLIRContext *context, int64_t lanes)
      : OpRewritePattern(context, /*benefit=*/2), lanes(lanes) {}

  LogicalResult matchAndRewrite(DecodeE2M1Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() % lanes)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto part = VectorType::get(lanes, b.getF32Type());
    Value table = arith::MulFOp::create(
        b, getValues(b, part),
        vector::BroadcastOp::create(b, part, op.getScale()));
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t first = 0; first < type.getNumElements(); first += lanes) {
      Value codes = extract(b, op.getCodes(), first, lanes);
      result = insert(b, lookUp(b, table, codes), result, first);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value getValues(ImplicitLocOpBuilder &b, VectorType type) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, ArrayRef(valuesOfE2M1).take_front(type.getNumElements())));
  }

  Value lookUp(ImplicitLocOpBuilder &b, Value table, Value codes) const {
    bool all = lanes == 16;
    StringRef permute =
        all ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
    Value value = LLVM::CallIntrinsicOp::create(b, table.getType(),
                                                b.getStringAttr(permute),
                                                ValueRange{table, codes})
                      .getResult(0);
    if (all)
      return value;
    auto constant = [&](int32_t bits) {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(cast<VectorType>(codes.getType()), bits));
    };
    Value high = arith::ShLIOp::create(b, codes, constant(28));
    Value sign = arith::AndIOp::create(
        b, high, constant(std::numeric_limits<int32_t>::min()));
    Value bits = arith::BitcastOp::create(b, codes.getType(), value);
    return arith::BitcastOp::create(b, table.getType(),
                                    arith::OrIOp::create(b, bits, sign));
  }

  int64_t lanes;
};

} // namespace

void mlir::dsflash::populateLookUpPatterns(RewritePatternSet &patterns,
                                           const LookUps &lookUps) {
  MLIRContext *context = patterns.getContext();
  if (lookUps.bytes)
    patterns.add<LookUpE4M3>(context);
  if (lookUps.words)
    patterns.add<LookUpE2M1Blocks>(context);
  if (lookUps.lanes > 0)
    patterns.add<LookUpE2M1>(context, lookUps.lanes);
}
