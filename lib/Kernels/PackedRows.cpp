//===- PackedRows.cpp - Rows in the formats of states and weights ---------===//

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

/// Codes that AVX-512 looks up at a time.
static constexpr int64_t lookUpBytes = 64;

static int64_t lastExtent(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape().back();
}

static bool hasBF16(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType().isBF16();
}

/// Vectors of codes of two a byte, each with the scales of a few blocks.
void KernelBuilder::decodeSmallBlocks(FormatAttr format, Value payload,
                                      Value scales, Value scaleRow, Value row,
                                      Value out) {
  int64_t dim = lastExtent(out), lanes = getLanes(dim / 2);
  int64_t width = format.getBlockColumns(), blocks = 2 * lanes / width;
  SmallVector<int64_t> blockOfLane;
  for (int64_t lane = 0; lane < lanes; ++lane)
    blockOfLane.push_back(2 * lane / width);
  shareLoop(dim, 2 * lanes, [&](Value first) {
    Value few = decodeScale(
        loadVector(scales, {scaleRow, div(first, width)}, blocks), format);
    Value scale = vector::ShuffleOp::create(*this, few, few, blockOfLane);
    Value bits = widen(loadVector(payload, {row, div(first, 2)}, lanes));
    auto decode = [&](Value codes) {
      return mulf(decodeE2M1(codes, f32(1.0f)), scale);
    };
    Value even = decode(bits), odd = decode(shiftRight(bits, 4));
    Value vector = hasBF16(out)
                       ? joinBF16(even, odd)
                       : vector::InterleaveOp::create(*this, even, odd);
    storeVector(vector, out, {first});
  });
}

/// Codes of E4M3, as many as are looked up at a time.
void KernelBuilder::decodeE4M3Blocks(FormatAttr format, Value payload,
                                     Value scales, Value scaleRow, Value row,
                                     Value out) {
  int64_t dim = lastExtent(out), width = format.getBlockColumns();
  shareLoop(dim, lookUpBytes, [&](Value first) {
    Value values = decodeE4M3(loadVector(payload, {row, first}, lookUpBytes));
    for (int64_t i = 0; i < lookUpBytes; i += width) {
      Value column = add(first, i);
      Value code = load(scales, {scaleRow, div(column, width)});
      Value scale = splat(decodeScale(code, format), width);
      storeVector(narrowBF16(mulf(slice(values, i, width), scale)), out,
                  {column});
    }
  });
}

void KernelBuilder::decodeRow(FormatAttr format, Value payload, Value scales,
                              Value row, Value out) {
  int64_t dim = lastExtent(out);
  auto put = [&](Value values, Value column) {
    storeVector(hasBF16(out) ? narrowBF16(values) : values, out, {column});
  };
  if (!format.hasScale()) {
    int64_t lanes = getLanes(dim);
    shareLoop(dim, lanes, [&](Value column) {
      put(decodeStored(loadVector(payload, {row, column}, lanes), /*scale=*/{},
                       format),
          column);
    });
    return;
  }
  Value scaleRow = div(row, format.getBlockRows());
  bool packed = format.getElement() == Element::E2M1;
  int64_t perByte = packed ? 2 : 1;
  int64_t width = format.getBlockColumns();
  int64_t most = perByte * getLanes(dim / perByte);
  if (packed && width < most && most % width == 0) {
    decodeSmallBlocks(format, payload, scales, scaleRow, row, out);
    return;
  }
  if (hasBF16(out) && !packed && dim % lookUpBytes == 0 &&
      lookUpBytes % width == 0) {
    decodeE4M3Blocks(format, payload, scales, scaleRow, row, out);
    return;
  }
  // A step lies inside one block, whatever the rest of the last block.
  int64_t step = std::gcd(dim, width);
  int64_t lanes = getLanes(step / perByte);
  // Neighbouring threads take neighbouring vectors.
  if (threads > 1)
    step = lanes * perByte;
  shareLoop(dim, step, [&](Value first) {
    Value block = div(first, width);
    Value scale = decodeScale(load(scales, {scaleRow, block}), format);
    for (int64_t i = 0; i < step; i += lanes * perByte) {
      Value column = add(first, i);
      Value codes = loadVector(payload, {row, div(column, perByte)}, lanes);
      put(decodeStored(codes, scale, format), column);
    }
  });
}

void KernelBuilder::encodeRow(FormatAttr format, Value values, Value valueRow,
                              Value payload, Value scales, Value row) {
  int64_t dim = lastExtent(values);
  if (!format.hasScale()) {
    int64_t lanes = getLanes(dim);
    loop(index(0), index(dim), lanes, [&](Value column) {
      Value vector = loadVector(values, {valueRow, column}, lanes);
      storeVector(vector, payload, {row, column});
    });
    return;
  }
  int64_t block = format.getBlockColumns();
  bool packed = format.getElement() == Element::E2M1;
  int64_t perByte = packed ? 2 : 1;
  int64_t lanes = getLanes(block / perByte);
  Value scaleRow = div(row, format.getBlockRows());
  loop(dim / block, [&](Value number) {
    Value first = mul(number, block);
    SmallVector<Value> group;
    for (int64_t i = 0; i < block; i += lanes * perByte)
      group.push_back(
          loadVector(values, {valueRow, add(first, i)}, lanes * perByte));
    Value scale = quantizeGroup(group, format);
    store(encodeScale(scale, format), scales, {scaleRow, number});
    for (auto [i, vector] : llvm::enumerate(group)) {
      Value codes = encode(vector, format);
      if (packed) {
        auto halves = vector::DeinterleaveOp::create(*this, codes);
        codes = bitOr(halves.getRes1(), shiftLeft(halves.getRes2(), 4));
      }
      Value column = add(div(first, perByte), i * lanes);
      storeVector(codes, payload, {row, column});
    }
  });
}
