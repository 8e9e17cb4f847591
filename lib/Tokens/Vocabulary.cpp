//===- Vocabulary.cpp - Spellings of tokens and their ids -----------------===//

#include "Vocabulary.h"

#include <functional>

using namespace dsflash;

void Vocabulary::add(std::string_view spelling, int32_t id) {
  text += spelling;
  entries.push_back({uint32_t(text.size()), id});
}

std::optional<size_t> Vocabulary::index() {
  text.shrink_to_fit();
  slots.assign(size() + size() / 2 + 1, 0);
  for (size_t token = 0; token < size(); ++token) {
    uint32_t &slot = slots[slotOf(spelling(token))];
    if (slot != 0)
      return token;
    slot = token + 1;
  }
  return std::nullopt;
}

std::optional<size_t> Vocabulary::find(std::string_view spelling) const {
  uint32_t slot = slots[slotOf(spelling)];
  return slot == 0 ? std::nullopt : std::optional<size_t>(slot - 1);
}

size_t Vocabulary::slotOf(std::string_view wanted) const {
  size_t at = std::hash<std::string_view>()(wanted) % slots.size();
  while (slots[at] != 0 && spelling(slots[at] - 1) != wanted)
    at = at + 1 == slots.size() ? 0 : at + 1;
  return at;
}
