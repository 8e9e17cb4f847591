//===- TestInputs.h - Tokenizers and vectors of the tests -------*- C++ -*-===//
//
// The released tokenizer is too large to keep here: tests that need it run
// where DSFLASH_RELEASED_TOKENIZER names its tokenizer.json.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_UNITTESTS_TOKENS_TESTINPUTS_H
#define DSFLASH_UNITTESTS_TOKENS_TESTINPUTS_H

#include "dsflash/Tokens/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace dsflash {

inline std::string sourcePath(const std::string &path) {
  return DSFLASH_SOURCE_DIR "/" + path;
}

inline std::string readText(const std::string &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file of unittests/Tokens/Inputs with one JSON value a line.
inline std::vector<nlohmann::json> readVectors(const std::string &name) {
  std::istringstream lines(
      readText(sourcePath("unittests/Tokens/Inputs/") + name));
  std::vector<nlohmann::json> vectors;
  for (std::string line; std::getline(lines, line);)
    vectors.push_back(nlohmann::json::parse(line));
  EXPECT_FALSE(vectors.empty()) << name;
  return vectors;
}

inline Tokenizer loadTokenizer(const std::string &path) {
  Result<Tokenizer> tokenizer = Tokenizer::load(path);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.status().str();
    std::abort();
  }
  return *tokenizer;
}

/// 256 byte tokens between special tokens, no merges, ByteLevel splits.
inline const std::string &byteTokenizerPath() {
  static const std::string path = sourcePath("test/golden/full/tokenizer.json");
  return path;
}

/// 2048 tokens with the released model's splits.
inline Tokenizer nanoTokenizer() {
  static const Tokenizer tokenizer =
      loadTokenizer(sourcePath("models/nano/tokenizer.json"));
  return tokenizer;
}

inline const char *releasedTokenizerPath() {
  return std::getenv("DSFLASH_RELEASED_TOKENIZER");
}

/// Skips the test where the released tokenizer is not at hand.
#define DSFLASH_REQUIRE_RELEASED_TOKENIZER()                                   \
  if (!releasedTokenizerPath())                                                \
  GTEST_SKIP() << "DSFLASH_RELEASED_TOKENIZER is not set"

inline Tokenizer releasedTokenizer() {
  static const Tokenizer tokenizer = loadTokenizer(releasedTokenizerPath());
  return tokenizer;
}

inline std::vector<int32_t> encodeOrFail(const Tokenizer &tokenizer,
                                         std::string_view text,
                                         bool parseAdded) {
  Result<std::vector<int32_t>> ids = tokenizer.encode(text, parseAdded);
  if (!ids) {
    ADD_FAILURE() << ids.status().str();
    return {};
  }
  return *ids;
}

inline std::string decode(const Tokenizer &tokenizer,
                          const std::vector<int32_t> &ids) {
  std::string bytes;
  for (int32_t id : ids)
    bytes += tokenizer.bytes(id);
  return bytes;
}

} // namespace dsflash

#endif // DSFLASH_UNITTESTS_TOKENS_TESTINPUTS_H
