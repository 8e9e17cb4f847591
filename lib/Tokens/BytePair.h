//===- BytePair.h - Byte-pair merges of one piece ---------------*- C++ -*-===//
//
// Short pieces are merged by scanning, long ones with a heap, so that the time
// stays near linear in the length of a piece.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_BYTEPAIR_H
#define DSFLASH_LIB_TOKENS_BYTEPAIR_H

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dsflash {

/// A flat hash table from pairs of numbers to a number; grows only.
class PairTable {
public:
  static constexpr uint32_t None = UINT32_MAX;

  /// Makes room for `count` pairs.
  explicit PairTable(size_t count = 0);

  /// Adds a pair; false if it was there. `value` is not None.
  bool insert(uint32_t first, uint32_t second, uint32_t value);

  /// The value of a pair, or None.
  uint32_t find(uint32_t first, uint32_t second) const {
    for (size_t at = slotOf(first, second);; at = behind(at)) {
      const Slot &slot = slots[at];
      if (slot.value == None || (slot.first == first && slot.second == second))
        return slot.value;
    }
  }

private:
  struct Slot {
    uint32_t first = 0, second = 0, value = None;
  };

  size_t slotOf(uint32_t first, uint32_t second) const {
    uint64_t key = uint64_t(first) << 32 | second;
    return (key * 0x9E3779B97F4A7C15u >> 32) * size >> 32;
  }
  size_t behind(size_t at) const { return at + 1 == size ? 0 : at + 1; }

  size_t size;
  std::vector<Slot> slots;
  size_t used = 0;
};

class BytePairEncoder {
public:
  BytePairEncoder() = default;
  /// `byteIds`: the token of each byte; `mergeCount`: how many addMerge calls
  /// follow.
  BytePairEncoder(const std::array<int32_t, 256> &byteIds, size_t mergeCount);

  /// Adds the merge of the next rank; false if the pair has one already.
  bool addMerge(int32_t left, int32_t right, int32_t merged);

  /// Appends the tokens of one piece: always the pair of the lowest rank is
  /// merged next, of equal ones the leftmost.
  void encode(std::string_view piece, std::vector<int32_t> &ids) const;

private:
  void encodeShort(std::string_view piece, std::vector<int32_t> &ids) const;
  void encodeLong(std::string_view piece, std::vector<int32_t> &ids) const;

  std::array<int32_t, 256> byteIds{};
  PairTable ranks;
  std::vector<int32_t> mergedIds; // by rank
};

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_BYTEPAIR_H
