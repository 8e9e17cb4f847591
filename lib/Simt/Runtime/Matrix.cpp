//===- Matrix.cpp - Matrix instructions of a warp -------------------------===//
//
// Fragment layouts: PTX ISA 9.7.14 (mma.sync, ldmatrix). Products are exact in
// float or double; their sum goes from the lowest k to the highest, rounded at
// each step. A device may sum in another order and cut bits.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Entries.h"

#include <cmath>
#include <cstring>

namespace dsflash::simt {

namespace {

struct Rows {
  uint64_t address;
  uint32_t *values;
};

// ldmatrix and stmatrix. Lane i gives the address of row i % 8 of matrix i / 8
// and holds, of each matrix, two elements of row i / 4 (transposed: of column
// i / 4).
void moveMatrix(ThreadContext *who, uint32_t site, uint64_t address,
                uint32_t count, uint32_t transposed, uint32_t generic,
                uint32_t stores, uint32_t *values) {
  Rows own{address, values};
  Block &block = *who->block;
  block.together(*who, site, ~uint32_t(0), &own, [&](Lanes &lanes) {
    uint8_t *rows[32] = {};
    for (uint32_t i = 0; i < 8 * count; ++i) {
      if (!lanes[i])
        continue;
      uint64_t where = static_cast<Rows *>(lanes[i]->operands)->address;
      if (block.checker)
        rows[i] = block.checker->access(
            lanes[i]->context, site,
            generic ? ptx::Space::Generic : ptx::Space::Shared,
            stores ? Access::Write : Access::Read, where, 16);
      else
        rows[i] = generic ? reinterpret_cast<uint8_t *>(where)
                          : block.shared() + where;
    }
    for (uint32_t element = 0; element < 64 * count; ++element) {
      uint32_t matrix = element / 64, lane = element / 2 % 32,
               half = element % 2;
      uint32_t row = lane / 4, column = lane % 4 * 2 + half;
      if (transposed)
        std::swap(row, column);
      uint8_t *memory = rows[8 * matrix + row];
      if (!lanes[lane] || !memory)
        continue;
      auto *held = reinterpret_cast<uint8_t *>(
          &static_cast<Rows *>(lanes[lane]->operands)->values[matrix]);
      memory += 2 * column;
      held += 2 * half;
      std::memcpy(stores ? memory : held, stores ? held : memory, 2);
    }
  });
}

struct Fragments {
  const uint32_t *operands; ///< registers of a, b and c
  uint32_t *results;
};

/// Element types of mma, as translated code numbers them.
enum class Element : uint32_t { BF16, F16, E4M3, E5M2, S8, U8 };

float elementOf(uint32_t reg, uint32_t index, Element type) {
  switch (type) {
  case Element::BF16: {
    uint32_t bits = (reg >> (16 * index)) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case Element::F16:
    return float(decode(reg >> (16 * index) & 0xffff, Format::F16));
  case Element::E4M3:
    return float(decode(reg >> (8 * index) & 0xff, Format::E4M3));
  case Element::E5M2:
    return float(decode(reg >> (8 * index) & 0xff, Format::E5M2));
  case Element::S8:
    return float(int8_t(reg >> (8 * index)));
  case Element::U8:
    return float(uint8_t(reg >> (8 * index)));
  }
  return 0;
}

// m16n8: registers of a lane hold 4 bytes each, `each` elements. Register r of
// a: row lane/4 + 8 (r % 2), k from (lane % 4) each + 4 each (r / 2); of b:
// column lane/4, k from (lane % 4) each + 4 each r; of c: row lane/4 +
// 8 (r / 2), column 2 (lane % 4) + r % 2.
void multiplyMatrix(ThreadContext *who, uint32_t site, uint32_t depth,
                    uint32_t typeA, uint32_t typeB, uint32_t isInteger,
                    const uint32_t *operands, uint32_t *results) {
  Fragments own{operands, results};
  who->block->together(*who, site, ~uint32_t(0), &own, [=](Lanes &lanes) {
    uint32_t each = typeA <= uint32_t(Element::F16) ? 2 : 4;
    uint32_t registersA = depth / (2 * each), registersB = depth / (4 * each);
    static thread_local float a[16][32], b[32][8];
    uint32_t c[16][8] = {};
    auto place = [](uint32_t lane, uint32_t r) {
      return std::pair<uint32_t, uint32_t>(lane / 4 + 8 * (r / 2),
                                           2 * (lane % 4) + r % 2);
    };
    std::memset(a, 0, sizeof a);
    std::memset(b, 0, sizeof b);
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if (!lanes[lane])
        continue;
      const uint32_t *from =
          static_cast<Fragments *>(lanes[lane]->operands)->operands;
      for (uint32_t r = 0; r < registersA; ++r)
        for (uint32_t i = 0; i < each; ++i)
          a[lane / 4 + 8 * (r % 2)][lane % 4 * each + 4 * each * (r / 2) + i] =
              elementOf(from[r], i, Element(typeA));
      from += registersA;
      for (uint32_t r = 0; r < registersB; ++r)
        for (uint32_t i = 0; i < each; ++i)
          b[lane % 4 * each + 4 * each * r + i][lane / 4] =
              elementOf(from[r], i, Element(typeB));
      from += registersB;
      for (uint32_t r = 0; r < 4; ++r) {
        auto [row, column] = place(lane, r);
        c[row][column] = from[r];
      }
    }
    for (uint32_t row = 0; row < 16; ++row)
      for (uint32_t column = 0; column < 8; ++column) {
        uint32_t &sum = c[row][column];
        if (isInteger) {
          for (uint32_t k = 0; k < depth; ++k)
            sum += uint32_t(int32_t(a[row][k]) * int32_t(b[k][column]));
          continue;
        }
        float total;
        std::memcpy(&total, &sum, 4);
        for (uint32_t k = 0; k < depth; ++k)
          total += a[row][k] * b[k][column];
        std::memcpy(&sum, &total, 4);
      }
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if (!lanes[lane])
        continue;
      uint32_t *to = static_cast<Fragments *>(lanes[lane]->operands)->results;
      for (uint32_t r = 0; r < 4; ++r) {
        auto [row, column] = place(lane, r);
        to[r] = c[row][column];
      }
    }
  });
}

} // namespace

#define SYMBOL(name, function) {name, reinterpret_cast<void *>(function)}
const RuntimeSymbol kMatrixSymbols[] = {
    SYMBOL("simt_move_matrix", moveMatrix),
    SYMBOL("simt_multiply_matrix", multiplyMatrix),
};
#undef SYMBOL
const unsigned kMatrixSymbolCount =
    sizeof(kMatrixSymbols) / sizeof(RuntimeSymbol);

} // namespace dsflash::simt
