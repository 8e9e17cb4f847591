//===- TokenMapTest.cpp - Engram's compressed token ids -------------------===//
//
// Expected values: SPEC section 3 (Engram) and the NumPy reference.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Tokens/TokenMap.h"
#include "TestInputs.h"

using namespace dsflash;

namespace {

EngramTokenMap mapOf(const Tokenizer &tokenizer) {
  Result<EngramTokenMap> map = engramTokenMap(tokenizer);
  if (!map) {
    ADD_FAILURE() << map.status().str();
    return {};
  }
  EXPECT_EQ(map->compressedIds.size(), size_t(tokenizer.vocabSize()));
  return *map;
}

/// FNV-1a of the ids as little-endian int32.
uint64_t digest(const std::vector<int32_t> &ids) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (uint32_t(id) >> shift & 0xFF)) * 0x100000001B3;
  return hash;
}

TEST(TokenMap, ByteTokenizer) {
  EngramTokenMap map = mapOf(loadTokenizer(byteTokenizerPath()));
  EXPECT_EQ(map.size, 259);
  EXPECT_EQ(digest(map.compressedIds), 0x0AEA6BA5118F831Au);
}

TEST(TokenMap, NanoTokenizer) {
  EngramTokenMap map = mapOf(nanoTokenizer());
  EXPECT_EQ(map.size, 1763);
  EXPECT_EQ(digest(map.compressedIds), 0x30163E48760ED945u);
}

TEST(TokenMap, ReleasedTokenizer) {
  DSFLASH_REQUIRE_RELEASED_TOKENIZER();
  EngramTokenMap map = mapOf(releasedTokenizer());
  EXPECT_EQ(map.size, 99092);
  EXPECT_EQ(digest(map.compressedIds), 0x6B5CFA68A5F57BA6u);
  nlohmann::json keys = nlohmann::json::parse(
      readText(sourcePath("unittests/Tokens/Inputs/token_keys.json")));
  for (const nlohmann::json &key : keys)
    EXPECT_EQ(map.compressedIds.at(key["id"].get<size_t>()), key["compressed"])
        << key["why"];
}

/// The byte tokenizer with further vocabulary tokens, given as text.
EngramTokenMap mapWith(const std::vector<std::string> &spellings,
                       std::vector<int32_t> &ids) {
  nlohmann::json json = nlohmann::json::parse(readText(byteTokenizerPath()));
  for (const std::string &spelling : spellings) {
    ids.push_back(json["model"]["vocab"].size());
    json["model"]["vocab"][spelling] = ids.back();
  }
  Result<Tokenizer> tokenizer = Tokenizer::parse(json.dump(), "json");
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.status().str();
    return {};
  }
  return mapOf(*tokenizer);
}

TEST(TokenMap, KeysOfText) {
  // Spellings: Ġ space, Ċ LF, Ã¡ U+00E1, Ã Ģ U+00C0, ÎŁ U+039F, ï¼¡ U+FF21.
  std::vector<int32_t> ids;
  EngramTokenMap map =
      mapWith({"ĠA", "Ã¡", "ÃĢ", "ï¼¡", "ĠĊ", "ĠĠ", "ï¿½", "ĠÎ£", "ÏĥĠ"}, ids);
  if (map.size == 0)
    return;
  auto compressed = [&](int32_t id) { return map.compressedIds[id]; };
  int32_t byteIds = 3;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(compressed(ids[i]), compressed(byteIds + 'a')) << i;
  for (int i = 4; i < 6; ++i)
    EXPECT_EQ(compressed(ids[i]), compressed(byteIds + ' ')) << i;
  EXPECT_EQ(compressed(byteIds + '\n'), compressed(byteIds + ' '));
  EXPECT_NE(compressed(byteIds + '\v'), compressed(byteIds + ' '));
  // A token of U+FFFD has its spelling as key: nothing merges with it.
  EXPECT_EQ(compressed(ids[6]), map.size - 2);
  EXPECT_EQ(compressed(ids[7]), compressed(ids[8]));
}

} // namespace
