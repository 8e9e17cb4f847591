//===- NumberFormats.cpp - bf16, E4M3, E8M0 and E2M1 ----------------------===//
//
// All conversions are done on the bits of f32, so that every target gives the
// values of QuantFormats.h.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dsflash;

namespace {
using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

constexpr int64_t infinityBits = 0x7f800000;
constexpr int64_t quietNaNBits = 0x7fc00000;
constexpr int64_t mantissaBits = 23;
constexpr int64_t exponentBias = 127;

/// A float of few bits: its largest finite value, and no infinity.
struct SmallFloat {
  int64_t mantissa; // bits
  int64_t bias;
  float largest;
};
constexpr SmallFloat e4m3 = {3, 7, 448.0f};
constexpr SmallFloat e2m1 = {1, 1, 6.0f};
} // namespace

Value KernelBuilder::intLike(Value like, int64_t value) {
  Type element = getElementTypeOrSelf(like.getType());
  auto bits = IntegerAttr::get(
      element, APInt(element.getIntOrFloatBitWidth(), value,
                     /*isSigned=*/false, /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return arith::ConstantOp::create(
        *this,
        cast<TypedAttr>(DenseElementsAttr::get(vector, Attribute(bits))));
  return arith::ConstantOp::create(*this, cast<TypedAttr>(bits));
}
Value KernelBuilder::bitAnd(Value a, int64_t mask) {
  return arith::AndIOp::create(*this, a, intLike(a, mask));
}
Value KernelBuilder::bitAnd(Value a, Value b) {
  return arith::AndIOp::create(*this, a, b);
}
Value KernelBuilder::bitOr(Value a, Value b) {
  return arith::OrIOp::create(*this, a, b);
}
Value KernelBuilder::shiftLeft(Value a, int64_t count) {
  return arith::ShLIOp::create(*this, a, intLike(a, count));
}
Value KernelBuilder::shiftRight(Value a, int64_t count) {
  return arith::ShRUIOp::create(*this, a, intLike(a, count));
}
Value KernelBuilder::widen(Value code) {
  return arith::ExtUIOp::create(
      *this, withElement(code.getType(), getI32Type()), code);
}
Value KernelBuilder::narrow(Value bits) {
  return arith::TruncIOp::create(
      *this, withElement(bits.getType(), getI8Type()), bits);
}

/// bits / 2^count, to nearest, ties to even.
static Value roundOff(KernelBuilder &b, Value bits, int64_t count) {
  Value odd = b.bitAnd(b.shiftRight(bits, count), 1);
  Value half = b.intLike(bits, (int64_t(1) << (count - 1)) - 1);
  return b.shiftRight(b.add(bits, b.add(half, odd)), count);
}

Value KernelBuilder::round(Value a) {
  constexpr int64_t dropped = 16, quiet = 0x400000;
  Value bits = bitsOf(a);
  Value nearest = shiftLeft(roundOff(*this, bits, dropped), dropped);
  Value nan = bitOr(bitAnd(bits, 0xffff0000), intLike(bits, quiet));
  return fromBits(select(cmpf(CmpF::UNO, a, a), nan, nearest));
}

Value KernelBuilder::decodeBF16(Value value) {
  Value bits = widen(bitcast(value, getIntegerType(16)));
  return fromBits(shiftLeft(bits, 16));
}

Value KernelBuilder::narrowBF16(Value value) {
  return NarrowBF16Op::create(
      *this, withElement(value.getType(), getBF16Type()), value);
}

Value KernelBuilder::joinBF16(Value even, Value odd) {
  Value words = bitOr(shiftRight(bitsOf(even), 16), bitsOf(odd));
  int64_t count = cast<VectorType>(words.getType()).getNumElements();
  return vector::BitCastOp::create(
      *this, VectorType::get(2 * count, getBF16Type()), words);
}

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

/// Code without sign of |value|: the nearest one, ties to even, at most the
/// code of the largest finite value; rounded once, straight from f32.
static Value encodeMagnitude(KernelBuilder &b, Value value,
                             const SmallFloat &format) {
  auto like = [&](float constant) {
    return b.constantLike(value.getType(), constant);
  };
  Value magnitude = b.minf(b.absf(value), like(format.largest));
  Value bits = b.bitsOf(magnitude);
  int64_t dropped = mantissaBits - format.mantissa;
  Value normal =
      b.sub(roundOff(b, bits, dropped),
            b.intLike(bits, (exponentBias - format.bias) << format.mantissa));
  // Adding 2^23 steps leaves the number of steps in the low bits.
  int64_t smallestExponent = 1 - format.bias;
  Value magic =
      like(std::ldexp(1.0f, smallestExponent - format.mantissa + mantissaBits));
  Value subnormal = b.sub(b.bitsOf(b.addf(magnitude, magic)), b.bitsOf(magic));
  Value isNormal =
      b.cmpf(CmpF::OGE, magnitude, like(std::ldexp(1.0f, smallestExponent)));
  return b.select(isNormal, normal, subnormal);
}

Value KernelBuilder::decodeE4M3(Value code, Type element) {
  Type type = withElement(code.getType(), element ? element : getF32Type());
  return DecodeE4M3Op::create(*this, type, code);
}

Value KernelBuilder::encodeE4M3(Value value) {
  Value bits = bitsOf(value);
  Value sign = bitAnd(shiftRight(bits, 24), 0x80);
  Value code = select(cmpf(CmpF::UNO, value, value), intLike(bits, 0x7f),
                      encodeMagnitude(*this, value, e4m3));
  return narrow(bitOr(code, sign));
}

Value KernelBuilder::decodeE8M0(Value code) {
  constexpr int64_t smallest = 0x00400000; // 2^-127
  Value bits = widen(code);
  Value value = max(shiftLeft(bits, mantissaBits), intLike(bits, smallest));
  Value isNaN = cmp(Cmp::eq, bits, intLike(bits, 255));
  return fromBits(select(isNaN, intLike(bits, quietNaNBits), value));
}

Value KernelBuilder::encodeE8M0(Value scale) {
  return narrow(shiftRight(bitsOf(scale), mantissaBits));
}

Value KernelBuilder::decodeE2M1(Value bits, Value scale) {
  return DecodeE2M1Op::create(*this, withElement(bits.getType(), getF32Type()),
                              bits, scale);
}

Value KernelBuilder::decodeE2M1Blocks(Value codes, ArrayRef<Value> scales) {
  int64_t bytes = cast<VectorType>(codes.getType()).getNumElements();
  return DecodeE2M1BlocksOp::create(
      *this, VectorType::get(2 * bytes, getBF16Type()), codes, scales);
}

Value KernelBuilder::encodeE2M1(Value value) {
  Value bits = bitsOf(value);
  Value sign = bitAnd(shiftRight(bits, 28), 8);
  Value code = select(cmpf(CmpF::UNO, value, value), intLike(bits, 0),
                      encodeMagnitude(*this, value, e2m1));
  return narrow(bitOr(code, sign));
}

//===----------------------------------------------------------------------===//
// Groups of one scale
//===----------------------------------------------------------------------===//

/// The smallest power of two that is not below a positive normal value.
static Value ceilPowerOfTwo(KernelBuilder &b, Value value) {
  Value bits = b.bitsOf(value);
  Value up = b.add(bits, b.intLike(bits, (1 << mantissaBits) - 1));
  return b.fromBits(b.bitAnd(up, infinityBits));
}

Value KernelBuilder::groupScale(Value largest, FormatAttr format) {
  if (format.getElement() == Element::E4M3)
    return ceilPowerOfTwo(*this, mulf(maxf(largest, f32(1e-4f)),
                                      f32(static_cast<float>(1.0 / 448.0))));
  if (format.getScale() == Element::E8M0)
    return ceilPowerOfTwo(*this, mulf(maxf(largest, f32(0x1.8p-124f)),
                                      f32(static_cast<float>(1.0 / 6.0))));
  Value exact = divf(maxf(largest, f32(6.0f / 512.0f)), f32(6.0f));
  return decodeE4M3(encodeE4M3(exact));
}

Value KernelBuilder::encodeScale(Value scale, FormatAttr format) {
  return format.getScale() == Element::E8M0 ? encodeE8M0(scale)
                                            : encodeE4M3(scale);
}
Value KernelBuilder::decodeScale(Value code, FormatAttr format) {
  return format.getScale() == Element::E8M0 ? decodeE8M0(code)
                                            : decodeE4M3(code);
}

Value KernelBuilder::encode(Value scaled, FormatAttr format) {
  return format.getElement() == Element::E4M3 ? encodeE4M3(scaled)
                                              : encodeE2M1(scaled);
}
Value KernelBuilder::decode(Value code, FormatAttr format) {
  return format.getElement() == Element::E4M3
             ? decodeE4M3(code)
             : decodeE2M1(widen(code), f32(1.0f));
}

Value KernelBuilder::quantizeGroup(MutableArrayRef<Value> group,
                                   FormatAttr format, int64_t sharers) {
  Value largest = constantLike(group.front().getType(), 0.0f);
  for (Value vector : group)
    largest = maxf(absf(vector), largest);
  Value scale = groupScale(maxOfLanes(reduceMax(largest), sharers), format);
  int64_t lanes = cast<VectorType>(largest.getType()).getNumElements();
  // The reciprocal of a power of two is exact.
  bool exact = format.getScale() == Element::E8M0;
  Value divisor = splat(exact ? divf(f32(1.0f), scale) : scale, lanes);
  for (Value &vector : group)
    vector = exact ? mulf(vector, divisor) : divf(vector, divisor);
  return scale;
}

Value KernelBuilder::decodeStored(Value stored, Value scale,
                                  FormatAttr format) {
  switch (format.getElement()) {
  case Element::BF16:
    return decodeBF16(stored);
  case Element::E4M3: {
    Value codes = decodeE4M3(stored);
    int64_t lanes = cast<VectorType>(codes.getType()).getNumElements();
    return mulf(codes, splat(scale, lanes));
  }
  case Element::E2M1: {
    Value bits = widen(stored);
    return vector::InterleaveOp::create(*this, decodeE2M1(bits, scale),
                                        decodeE2M1(shiftRight(bits, 4), scale));
  }
  default:
    return stored;
  }
}
