//===- FuzzText.cpp - Text through the tokenizer of models/nano -----------===//

#include "Fuzz.h"

#include "dsflash/Tokens/ReplyParser.h"
#include "dsflash/Tokens/StreamDecoder.h"

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Result<Tokenizer> tokenizer =
      Tokenizer::load(DSFLASH_SOURCE_DIR "/models/nano/tokenizer.json");
  fuzz::require(tokenizer.ok(), "models/nano has a tokenizer");
  std::string_view text = fuzz::text(data, size);
  StreamDecoder raw;
  std::string whole = raw.feed(text);
  whole += raw.finish();
  for (bool parseAdded : {false, true}) {
    // Ill-formed text is an error; what the decoder made of it never is.
    Result<std::vector<int32_t>> ids = tokenizer->encode(text, parseAdded);
    fuzz::require(ids.ok() == (whole == text), "only UTF-8 is encoded");
    ids = tokenizer->encode(whole, parseAdded);
    fuzz::require(ids.ok(), "decoded text is UTF-8");
    StreamDecoder decoder;
    std::string back;
    for (int32_t id : *ids)
      back += decoder.feed(tokenizer->bytes(id));
    back += decoder.finish();
    fuzz::require(back == whole, "decoding gives the text back");
  }
  parseReply(text, /*thinking=*/true, /*hasTools=*/true);
  return 0;
}
