//===- FuzzTokens.cpp - Lists of token ids --------------------------------===//

#include "Fuzz.h"

#include "dsflash/Tokens/TokenFile.h"

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int64_t kVocab = 1000;
  Result<std::vector<int32_t>> ids =
      parseTokens(fuzz::text(data, size), "ids.json", kVocab);
  if (!ids)
    fuzz::require(int64_t(ids.status().faults().size()) <= kMaxListedTokens + 1,
                  "faults are bounded");
  else
    fuzz::require(
        checkTokens("", ids->data(), int64_t(ids->size()), 0, kVocab).ok(),
        "ids are in range");
  return 0;
}
