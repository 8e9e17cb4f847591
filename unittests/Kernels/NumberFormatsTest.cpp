//===- NumberFormatsTest.cpp - Formats in kernels against the C header ----===//

#include "Jit.h"
#include "dsflash/ABI/QuantFormats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace dsflash_test;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using mlir::dsflash::FormatAttr;
using mlir::dsflash::KernelBuilder;

namespace {

/// f32 values at which encoders may go wrong: all of bf16, the middles between
/// them, one ulp to each side, and the middles of the given values.
std::vector<float> getInputs(const std::vector<float> &values = {}) {
  std::vector<float> inputs;
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      inputs.push_back(dsf_f32_from_bits(high << 16 | low));
  for (size_t i = 1; i < values.size(); ++i) {
    float middle = (values[i - 1] + values[i]) / 2;
    for (float x : {middle, std::nextafter(middle, -1e9f),
                    std::nextafter(middle, 1e9f)}) {
      inputs.push_back(x);
      inputs.push_back(-x);
    }
  }
  inputs.resize((inputs.size() + 15) / 16 * 16);
  return inputs;
}

/// Not the sign and payload of NaN: neither is promised.
testing::AssertionResult sameValue(float got, float expected) {
  if (std::isnan(expected) ? std::isnan(got)
                           : dsf_f32_bits(got) == dsf_f32_bits(expected))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << got << ", expected " << expected;
}

/// Compiles a conversion both for scalars and for vectors, and runs it.
template <typename From, typename To> class Conversion {
public:
  using Make = llvm::function_ref<Value(KernelBuilder &, Value)>;

  Conversion(Type (*from)(mlir::Builder &), Type (*to)(mlir::Builder &),
             Make make) {
    Type arguments[] = {jit.buffer(from(jit.types())),
                        jit.buffer(to(jit.types()))};
    for (int64_t lanes : {1, 16}) {
      std::string name = lanes == 1 ? "scalar" : "vector";
      jit.add(name, arguments, [&](KernelBuilder &b, ValueRange buffers) {
        Value size = mlir::memref::DimOp::create(b, buffers[0], 0);
        b.loop(b.index(0), size, lanes, [&](Value i) {
          if (lanes == 1)
            b.store(make(b, b.load(buffers[0], {i})), buffers[1], {i});
          else
            b.storeVector(make(b, b.loadVector(buffers[0], {i}, lanes)),
                          buffers[1], {i});
        });
      });
    }
    jit.compile();
  }

  std::vector<To> run(const char *name, std::vector<From> in) {
    std::vector<To> out(in.size());
    jit.call(name, flat(in), flat(out));
    return out;
  }

private:
  Jit jit;
};

Type byteType(mlir::Builder &b) { return b.getI8Type(); }
Type floatType(mlir::Builder &b) { return b.getF32Type(); }

using Decoder = Conversion<uint8_t, float>;
using Encoder = Conversion<float, uint8_t>;

void expectDecodes(Decoder::Make make, float (*expected)(uint8_t)) {
  Decoder decoder(byteType, floatType, make);
  std::vector<uint8_t> codes(256);
  for (int i = 0; i < 256; ++i)
    codes[i] = i;
  for (const char *name : {"scalar", "vector"}) {
    std::vector<float> values = decoder.run(name, codes);
    for (int i = 0; i < 256; ++i)
      EXPECT_TRUE(sameValue(values[i], expected(i))) << name << " code " << i;
  }
}

void expectEncodes(Encoder::Make make, uint8_t (*expected)(float),
                   const std::vector<float> &values, bool (*isNaN)(uint8_t)) {
  Encoder encoder(floatType, byteType, make);
  std::vector<float> inputs = getInputs(values);
  for (const char *name : {"scalar", "vector"}) {
    std::vector<uint8_t> codes = encoder.run(name, inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      ASSERT_TRUE(codes[i] == expected(inputs[i]) ||
                  (std::isnan(inputs[i]) && isNaN(codes[i])))
          << name << " of " << inputs[i] << ": " << int(codes[i])
          << ", expected " << int(expected(inputs[i]));
  }
}

/// All values that decode gives, ascending, without sign and NaN.
std::vector<float> getMagnitudes(float (*decode)(uint8_t), int count) {
  std::vector<float> values;
  for (int code = 0; code < count; ++code)
    values.push_back(decode(code));
  return values;
}

TEST(NumberFormats, DecodeE4M3) {
  expectDecodes([](KernelBuilder &b, Value code) { return b.decodeE4M3(code); },
                dsf_e4m3_decode);
}

TEST(NumberFormats, DecodeE8M0) {
  expectDecodes([](KernelBuilder &b, Value code) { return b.decodeE8M0(code); },
                dsf_e8m0_decode);
}

TEST(NumberFormats, DecodeE2M1IgnoresTheHighNibble) {
  expectDecodes(
      [](KernelBuilder &b, Value code) {
        return b.decodeE2M1(b.widen(code), b.f32(1.0f));
      },
      [](uint8_t code) { return dsf_e2m1_decode(code & 15); });
}

TEST(NumberFormats, DecodeE2M1TimesAScale) {
  expectDecodes(
      [](KernelBuilder &b, Value code) {
        Value high = b.shiftRight(b.widen(code), 4);
        return b.decodeE2M1(high, b.f32(0x1p-100f));
      },
      [](uint8_t code) { return dsf_e2m1_decode(code >> 4) * 0x1p-100f; });
}

TEST(NumberFormats, EncodeE4M3) {
  expectEncodes(
      [](KernelBuilder &b, Value value) { return b.encodeE4M3(value); },
      dsf_e4m3_encode, getMagnitudes(dsf_e4m3_decode, 127),
      [](uint8_t code) { return (code & 127) == 127; });
}

TEST(NumberFormats, EncodeE2M1) {
  expectEncodes(
      [](KernelBuilder &b, Value value) { return b.encodeE2M1(value); },
      dsf_e2m1_encode, getMagnitudes(dsf_e2m1_decode, 8),
      [](uint8_t code) { return (code & 7) == 0; });
}

TEST(NumberFormats, EncodeE8M0OfPowersOfTwo) {
  Encoder encoder(floatType, byteType, [](KernelBuilder &b, Value value) {
    return b.encodeE8M0(value);
  });
  std::vector<float> powers;
  for (int exponent = -127; exponent < 128; ++exponent)
    powers.push_back(std::ldexp(1.0f, exponent));
  powers.push_back(std::numeric_limits<float>::infinity());
  for (const char *name : {"scalar", "vector"}) {
    std::vector<uint8_t> codes = encoder.run(name, powers);
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(codes[i], i) << name;
  }
}

TEST(NumberFormats, RoundToBF16) {
  Conversion<float, float> round(
      floatType, floatType,
      [](KernelBuilder &b, Value value) { return b.round(value); });
  std::vector<float> inputs = getInputs();
  for (const char *name : {"scalar", "vector"}) {
    std::vector<float> rounded = round.run(name, inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      ASSERT_TRUE(sameValue(rounded[i], dsf_bf16_round(inputs[i])))
          << name << " of " << inputs[i];
  }
}

/// The nearest bf16 of an integer, ties to even, in one step.
uint16_t integerToBF16(int64_t value) {
  if (value == 0)
    return 0;
  double unit = std::ldexp(1.0, std::ilogb(double(value)) - 7);
  double rounded = std::nearbyint(double(value) / unit) * unit;
  return uint16_t(dsf_f32_bits(float(rounded)) >> 16);
}

// Case 35: signs, and values between two of bf16.
TEST(NumberFormats, IntegersToBF16) {
  std::vector<int32_t> inputs = {0, 1, -1, 127, -128, 255, 257, 258, 259};
  for (int bit = 0; bit < 32; ++bit)
    for (int64_t near : {-1, 0, 1})
      for (int64_t sign : {-1, 1})
        inputs.push_back(int32_t(sign * ((int64_t(1) << bit) + near)));
  std::mt19937 random(35);
  while (inputs.size() < 512 || inputs.size() % 16)
    inputs.push_back(int32_t(random()) >> (random() % 24));
  auto i32 = [](mlir::Builder &b) -> Type { return b.getI32Type(); };
  auto i16 = [](mlir::Builder &b) -> Type { return b.getI16Type(); };
  for (unsigned bits : {1u, 8u, 16u, 32u})
    for (bool isSigned : {true, false}) {
      auto make = [&](KernelBuilder &b, Value in) -> Value {
        auto like = [&](Type element) -> Type {
          auto vector = mlir::dyn_cast<mlir::VectorType>(in.getType());
          return vector ? vector.clone(element) : element;
        };
        Value narrow = bits == 32 ? in
                                  : mlir::arith::TruncIOp::create(
                                        b, like(b.getIntegerType(bits)), in);
        Type bf16 = like(b.getBF16Type());
        Value value =
            isSigned
                ? mlir::arith::SIToFPOp::create(b, bf16, narrow).getResult()
                : mlir::arith::UIToFPOp::create(b, bf16, narrow).getResult();
        return mlir::arith::BitcastOp::create(b, like(b.getI16Type()), value);
      };
      Conversion<int32_t, uint16_t> conversion(i32, i16, make);
      for (const char *name : {"scalar", "vector"}) {
        std::vector<uint16_t> got = conversion.run(name, inputs);
        for (size_t i = 0; i < inputs.size(); ++i) {
          uint64_t mask = (uint64_t(1) << bits) - 1;
          int64_t value = int64_t(uint64_t(inputs[i]) & mask);
          if (isSigned && value >> (bits - 1))
            value -= int64_t(mask) + 1;
          ASSERT_EQ(got[i], integerToBF16(value))
              << name << ", " << value << " of i" << bits;
        }
      }
    }
}

TEST(NumberFormats, DecodeBF16) {
  Conversion<uint16_t, float> decode(
      [](mlir::Builder &b) -> Type { return b.getBF16Type(); }, floatType,
      [](KernelBuilder &b, Value value) { return b.decodeBF16(value); });
  std::vector<uint16_t> codes(0x10000);
  for (int i = 0; i < 0x10000; ++i)
    codes[i] = i;
  for (const char *name : {"scalar", "vector"}) {
    std::vector<float> values = decode.run(name, codes);
    for (int i = 0; i < 0x10000; ++i)
      ASSERT_TRUE(sameValue(values[i], dsf_bf16_decode(i))) << name << " " << i;
  }
}

/// The values that SPEC section 2 and CASES name.
TEST(NumberFormats, NamedValues) {
  Encoder e4m3(floatType, byteType, [](KernelBuilder &b, Value value) {
    return b.encodeE4M3(value);
  });
  Encoder e2m1(floatType, byteType, [](KernelBuilder &b, Value value) {
    return b.encodeE2M1(value);
  });
  EXPECT_EQ(dsf_e4m3_decode(e4m3.run("scalar", {1.0625001f})[0]), 1.125f);
  float ties[7][2] = {{.25f, 0}, {.75f, 1}, {1.25f, 1}, {1.75f, 2},
                      {2.5f, 2}, {3.5f, 4}, {5, 4}};
  for (auto [tie, even] : ties) {
    EXPECT_EQ(dsf_e2m1_decode(e2m1.run("scalar", {tie})[0]), even);
    EXPECT_EQ(dsf_e2m1_decode(e2m1.run("scalar", {-tie})[0]), -even);
  }
  EXPECT_EQ(e2m1.run("scalar", {-0.0f})[0], 8);
}

//===----------------------------------------------------------------------===//
// Groups and rows
//===----------------------------------------------------------------------===//

struct RowFormat {
  const char *text;
  int64_t group;
  int64_t payloadBytes; // of a group
  uint8_t (*quantize)(const float *, uint8_t *);
  float (*decodeScale)(uint8_t);
};

const RowFormat rowFormats[] = {
    {"e4m3, e8m0, [1, 32]", 32, 32, dsf_fp8_quantize, dsf_e8m0_decode},
    {"e2m1, e4m3, [1, 16]", 16, 8, dsf_fp4_kv_quantize, dsf_e4m3_decode},
    {"e2m1, e8m0, [1, 32]", 32, 16, dsf_fp4_key_quantize, dsf_e8m0_decode}};

constexpr int64_t dim = 64;

/// Rows of every kind: zeros, tiny and huge values, one value far above the
/// others, scales that are exact powers of two and just beside, NaN and
/// infinity.
std::vector<float> getRows() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> rows(dim, 0.0f);
  for (int exponent = -148; exponent < 127; ++exponent)
    for (int64_t i = 0; i < dim; ++i)
      rows.push_back(std::ldexp(normal(random), exponent));
  for (float base : {1.5f, 0.75f, 1.0f, 2.0f})
    for (float largest : {448.0f, 6.0f})
      for (int side : {-1, 0, 1})
        for (int64_t i = 0; i < dim; ++i) {
          float top = base * largest;
          if (side)
            top = std::nextafter(top, side * 1e9f);
          rows.push_back(i % 16 == 3 ? top : normal(random));
        }
  for (float outlier : {1000.0f, std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(), 3.4e38f})
    for (int64_t i = 0; i < dim; ++i)
      rows.push_back(i == 40 ? outlier : normal(random));
  return rows;
}

TEST(NumberFormats, RowsOfStates) {
  for (const RowFormat &kind : rowFormats) {
    Jit jit;
    FormatAttr format = jit.format(kind.text);
    auto &types = jit.types();
    int64_t bytes = dim / kind.group * kind.payloadBytes;
    int64_t scaleCount = dim / kind.group;
    auto rowsOf = [](int64_t columns, Type element) -> Type {
      return mlir::MemRefType::get({mlir::ShapedType::kDynamic, columns},
                                   element);
    };
    Type arguments[] = {rowsOf(dim, types.getF32Type()),
                        rowsOf(bytes, types.getI8Type()),
                        rowsOf(scaleCount, types.getI8Type())};
    jit.add("encode", arguments, [&](KernelBuilder &b, ValueRange buffers) {
      Value size = mlir::memref::DimOp::create(b, buffers[0], 0);
      b.loop(b.index(0), size, [&](Value row) {
        b.encodeRow(format, buffers[0], row, buffers[1], buffers[2], row);
      });
    });
    jit.add("decode", arguments, [&](KernelBuilder &b, ValueRange buffers) {
      Value out = b.scratch({dim}, b.getF32Type());
      Value size = mlir::memref::DimOp::create(b, buffers[0], 0);
      b.loop(b.index(0), size, [&](Value row) {
        b.decodeRow(format, buffers[1], buffers[2], row, out);
        b.loop(dim, [&](Value i) {
          b.store(b.load(out, {i}), buffers[0], {row, i});
        });
      });
    });
    jit.compile();

    std::vector<float> values = getRows();
    int64_t count = values.size() / dim;
    std::vector<uint8_t> payload(count * bytes), scales(count * scaleCount);
    std::vector<float> decoded(values.size());
    jit.call("encode", Memref<float, 2>(values, count, dim),
             Memref<uint8_t, 2>(payload, count, bytes),
             Memref<uint8_t, 2>(scales, count, scaleCount));
    jit.call("decode", Memref<float, 2>(decoded, count, dim),
             Memref<uint8_t, 2>(payload, count, bytes),
             Memref<uint8_t, 2>(scales, count, scaleCount));
    for (int64_t group = 0; group < count * scaleCount; ++group) {
      uint8_t codes[32];
      const float *in = &values[group * kind.group];
      uint8_t scale = kind.quantize(in, codes);
      ASSERT_EQ(scales[group], scale) << kind.text << " group " << group;
      // With a scale of NaN no value counts any more.
      if (std::isnan(kind.decodeScale(scale)))
        continue;
      for (int64_t i = 0; i < kind.payloadBytes; ++i)
        ASSERT_EQ(payload[group * kind.payloadBytes + i], codes[i])
            << kind.text << " group " << group << " byte " << i;
      for (int64_t i = 0; i < kind.group; ++i) {
        bool two = kind.payloadBytes < kind.group;
        float value = two ? dsf_e2m1_decode(codes[i / 2] >> i % 2 * 4 & 15)
                          : dsf_e4m3_decode(codes[i]);
        ASSERT_TRUE(sameValue(decoded[group * kind.group + i],
                              value * kind.decodeScale(scale)));
      }
    }
  }
}

} // namespace
