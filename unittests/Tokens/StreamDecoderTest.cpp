//===- StreamDecoderTest.cpp - Only whole characters leave the decoder ----===//

#include "dsflash/Tokens/StreamDecoder.h"
#include "TestInputs.h"
#include "Utf8.h"

using namespace dsflash;

namespace {

bool isWellFormed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    Utf8Step step = utf8Step(text, at);
    if (step.kind != Utf8Step::Valid)
      return false;
    at += step.length;
  }
  return true;
}

TEST(StreamDecoder, HoldsBackPartsOfCharacters) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.feed("a\xF0\x9F"), "a");
  EXPECT_EQ(decoder.feed("\x91"), "");
  EXPECT_EQ(decoder.feed("\x8D"
                         "b"),
            "👍b");
  EXPECT_EQ(decoder.feed(""), "");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ReplacesIllFormedBytes) {
  // Table 3-8 of the Unicode standard.
  std::string_view bytes =
      "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64";
  std::string_view text = "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    StreamDecoder decoder;
    std::string decoded;
    for (size_t at = 0; at < bytes.size(); at += step)
      decoded += decoder.feed(bytes.substr(at, step));
    EXPECT_EQ(decoded + decoder.finish(), text) << "in steps of " << step;
  }
}

TEST(StreamDecoder, EndsInsideACharacter) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.feed("x\xE6\x97"), "x");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.feed("y"), "y");
}

TEST(StreamDecoder, StreamsTokensOfEveryText) {
  Tokenizer tokenizer = nanoTokenizer();
  for (const nlohmann::json &vector : readVectors("nano_vectors.jsonl")) {
    StreamDecoder decoder;
    std::string streamed;
    for (int32_t id : vector["ids"].get<std::vector<int32_t>>()) {
      std::string text = decoder.feed(tokenizer.bytes(id));
      EXPECT_TRUE(isWellFormed(text));
      streamed += text;
    }
    EXPECT_EQ(streamed, vector["text"].get<std::string>());
    EXPECT_EQ(decoder.finish(), "");
  }
}

} // namespace
