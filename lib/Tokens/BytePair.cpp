//===- BytePair.cpp - Byte-pair merges of one piece -----------------------===//

#include "BytePair.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace dsflash;

/// Longest piece, in bytes, for which scanning all ranks beats the heap.
static constexpr size_t kShortPiece = 64;

//===----------------------------------------------------------------------===//
// PairTable
//===----------------------------------------------------------------------===//

PairTable::PairTable(size_t count)
    : size(std::max<size_t>(16, 2 * count)), slots(size) {}

bool PairTable::insert(uint32_t first, uint32_t second, uint32_t value) {
  if (2 * (used + 1) > size) {
    PairTable larger(size);
    for (const Slot &slot : slots)
      if (slot.value != None)
        larger.insert(slot.first, slot.second, slot.value);
    *this = std::move(larger);
  }
  size_t at = slotOf(first, second);
  for (; slots[at].value != None; at = behind(at))
    if (slots[at].first == first && slots[at].second == second)
      return false;
  slots[at] = {first, second, value};
  ++used;
  return true;
}

//===----------------------------------------------------------------------===//
// BytePairEncoder
//===----------------------------------------------------------------------===//

BytePairEncoder::BytePairEncoder(const std::array<int32_t, 256> &byteIds,
                                 size_t mergeCount)
    : byteIds(byteIds), ranks(mergeCount) {
  mergedIds.reserve(mergeCount);
}

bool BytePairEncoder::addMerge(int32_t left, int32_t right, int32_t merged) {
  if (!ranks.insert(left, right, mergedIds.size()))
    return false;
  mergedIds.push_back(merged);
  return true;
}

void BytePairEncoder::encode(std::string_view piece,
                             std::vector<int32_t> &ids) const {
  if (piece.size() <= kShortPiece)
    encodeShort(piece, ids);
  else
    encodeLong(piece, ids);
}

void BytePairEncoder::encodeShort(std::string_view piece,
                                  std::vector<int32_t> &ids) const {
  int32_t tokens[kShortPiece];
  uint32_t pairRanks[kShortPiece]; // of tokens i and i + 1
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i)
    tokens[i] = byteIds[uint8_t(piece[i])];
  for (size_t i = 0; i + 1 < count; ++i)
    pairRanks[i] = ranks.find(tokens[i], tokens[i + 1]);
  while (count > 1) {
    size_t best =
        std::min_element(pairRanks, pairRanks + count - 1) - pairRanks;
    if (pairRanks[best] == PairTable::None)
      break;
    tokens[best] = mergedIds[pairRanks[best]];
    std::copy(tokens + best + 2, tokens + count, tokens + best + 1);
    if (best + 2 < count)
      std::copy(pairRanks + best + 1, pairRanks + count - 1, pairRanks + best);
    --count;
    if (best > 0)
      pairRanks[best - 1] = ranks.find(tokens[best - 1], tokens[best]);
    if (best + 1 < count)
      pairRanks[best] = ranks.find(tokens[best], tokens[best + 1]);
  }
  ids.insert(ids.end(), tokens, tokens + count);
}

void BytePairEncoder::encodeLong(std::string_view piece,
                                 std::vector<int32_t> &ids) const {
  constexpr size_t NoSymbol = SIZE_MAX;
  struct Symbol {
    int32_t token;
    uint32_t pairRank; // of this and the next
    size_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    size_t at;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::vector<Symbol> symbols(piece.size());
  std::vector<Candidate> candidates;
  auto rankPair = [&](size_t at) {
    Symbol &symbol = symbols[at];
    symbol.pairRank =
        symbol.next == NoSymbol
            ? PairTable::None
            : ranks.find(symbol.token, symbols[symbol.next].token);
    return Candidate{symbol.pairRank, at};
  };
  for (size_t i = 0; i < piece.size(); ++i)
    symbols[i] = {byteIds[uint8_t(piece[i])], PairTable::None,
                  i == 0 ? NoSymbol : i - 1,
                  i + 1 == piece.size() ? NoSymbol : i + 1};
  for (size_t i = 0; i < piece.size(); ++i)
    if (Candidate candidate = rankPair(i); candidate.rank != PairTable::None)
      candidates.push_back(candidate);
  std::priority_queue<Candidate, std::vector<Candidate>,
                      std::greater<Candidate>>
      queue(std::greater<Candidate>(), std::move(candidates));

  while (!queue.empty()) {
    auto [rank, at] = queue.top();
    queue.pop();
    Symbol &symbol = symbols[at];
    // A pair that changed since has another rank, or none.
    if (symbol.pairRank != rank)
      continue;
    Symbol &absorbed = symbols[symbol.next];
    symbol.token = mergedIds[rank];
    symbol.next = absorbed.next;
    absorbed.pairRank = PairTable::None;
    if (symbol.next != NoSymbol)
      symbols[symbol.next].previous = at;
    for (size_t changed : {symbol.previous, at})
      if (changed != NoSymbol)
        if (Candidate pair = rankPair(changed); pair.rank != PairTable::None)
          queue.push(pair);
  }
  for (size_t at = 0; at != NoSymbol; at = symbols[at].next)
    ids.push_back(symbols[at].token);
}
