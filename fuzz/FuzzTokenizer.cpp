//===- FuzzTokenizer.cpp - tokenizer.json ---------------------------------===//

#include "Fuzz.h"

#include "dsflash/Tokens/TokenMap.h"
#include "dsflash/Tokens/Tokenizer.h"

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<Tokenizer> tokenizer =
      Tokenizer::parse(fuzz::text(data, size), "tokenizer.json");
  if (!tokenizer)
    return 0;
  constexpr std::string_view kText = "Hello 12345, \xc3\xa9!\n\n  <think> x";
  for (bool parseAdded : {false, true}) {
    Result<std::vector<int32_t>> ids = tokenizer->encode(kText, parseAdded);
    fuzz::require(ids.ok(), "text can be encoded");
    std::string back;
    for (int32_t id : *ids) {
      fuzz::require(id >= 0 && id < tokenizer->vocabSize(), "ids are in range");
      back += tokenizer->bytes(id);
    }
    fuzz::require(back == kText, "decoding gives the text back");
  }
  fuzz::require(engramTokenMap(*tokenizer).ok(), "the token map exists");
  return 0;
}
