//===- TokenizerTest.cpp - Text to ids and back ---------------------------===//
//
// Expected ids: the released model's vectors, and those of Hugging Face
// tokenizers 0.22.1 for the nano tokenizer.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Tokens/Tokenizer.h"
#include "TestInputs.h"

#include <chrono>

using namespace dsflash;
using nlohmann::json;

namespace {

void expectVectors(const Tokenizer &tokenizer, const std::string &name) {
  for (const json &vector : readVectors(name)) {
    std::string text = vector["text"];
    std::vector<int32_t> ids =
        encodeOrFail(tokenizer, text, vector.value("special", false));
    EXPECT_EQ(ids, vector["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(decode(tokenizer, ids), text);
  }
}

TEST(Tokenizer, NanoVectors) {
  expectVectors(nanoTokenizer(), "nano_vectors.jsonl");
}

TEST(Tokenizer, ReleasedVectors) {
  DSFLASH_REQUIRE_RELEASED_TOKENIZER();
  Tokenizer tokenizer = releasedTokenizer();
  EXPECT_EQ(tokenizer.vocabSize(), 129280);
  expectVectors(tokenizer, "token_vectors.jsonl");
}

TEST(Tokenizer, ByteTokenizerGivesBytes) {
  Tokenizer tokenizer = loadTokenizer(byteTokenizerPath());
  EXPECT_EQ(tokenizer.vocabSize(), 288);
  std::string text = "Hello, wörld 日本\n<think>";
  std::vector<int32_t> expected;
  for (char byte : text)
    expected.push_back(3 + uint8_t(byte));
  EXPECT_EQ(encodeOrFail(tokenizer, text, false), expected);
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(tokenizer.bytes(3 + byte), std::string(1, char(byte)));
}

TEST(Tokenizer, AddedTokensByText) {
  Tokenizer tokenizer = nanoTokenizer();
  EXPECT_EQ(tokenizer.idOf("<｜begin▁of▁sentence｜>"), 0);
  EXPECT_EQ(tokenizer.idOf("<think>"), 2044);
  EXPECT_EQ(tokenizer.bytes(2044), "<think>");
  EXPECT_TRUE(tokenizer.isAdded(2044));
  EXPECT_FALSE(tokenizer.isAdded(2040));
  for (const char *text : {"", "<think", "<think>>", "the"})
    EXPECT_EQ(tokenizer.idOf(text), std::nullopt) << text;
}

TEST(Tokenizer, PlainTextNeverYieldsAddedTokens) {
  Tokenizer tokenizer = nanoTokenizer();
  std::string all;
  for (int32_t id = 0; id < tokenizer.vocabSize(); ++id) {
    if (!tokenizer.isAdded(id))
      continue;
    std::string text(tokenizer.bytes(id));
    all += text + " " + text;
    EXPECT_EQ(encodeOrFail(tokenizer, text, true), std::vector<int32_t>{id});
  }
  std::vector<int32_t> ids = encodeOrFail(tokenizer, all, false);
  for (int32_t id : ids)
    EXPECT_FALSE(tokenizer.isAdded(id)) << id;
  EXPECT_EQ(decode(tokenizer, ids), all);
}

/// The tokenizer of `path` as JSON, for tests that change it.
json tokenizerJson(const std::string &path) {
  return json::parse(readText(path));
}

TEST(Tokenizer, AddedTokensAreMatchedLeftmostLongest) {
  json changed = tokenizerJson(byteTokenizerPath());
  auto add = [&](int id, const char *content) {
    changed["added_tokens"].push_back(
        {{"id", id}, {"content", content}, {"special", false}});
  };
  add(288, "ab");
  add(289, "abcd");
  add(290, "bcde");
  add(291, "cx");
  Result<Tokenizer> tokenizer = Tokenizer::parse(changed.dump(), "json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  auto byteId = [](char byte) { return 3 + byte; };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(encodeOrFail(*tokenizer, "abcde", true), (Ids{289, byteId('e')}));
  EXPECT_EQ(encodeOrFail(*tokenizer, "abcx", true), (Ids{288, 291}));
  EXPECT_EQ(encodeOrFail(*tokenizer, "bcdeab", true), (Ids{290, 288}));
  EXPECT_EQ(encodeOrFail(*tokenizer, "abc", true), (Ids{288, byteId('c')}));
}

TEST(Tokenizer, LongPiecesTakeNearLinearTime) {
  Tokenizer tokenizer = nanoTokenizer();
  std::string cycle;
  for (int i = 0; i < 100000; ++i)
    cycle += "abcdefghij";
  for (const std::string &text :
       {std::string(1000000, 'a'), cycle, std::string(1000000, ' ') + "x",
        std::string(1000000, '\n'), std::string(1000000, '<')}) {
    auto start = std::chrono::steady_clock::now();
    std::vector<int32_t> ids = encodeOrFail(tokenizer, text, true);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 20) << text.substr(0, 10);
    EXPECT_TRUE(decode(tokenizer, ids) == text);
  }
}

TEST(Tokenizer, RoundTripOfAllCharacters) {
  Tokenizer tokenizer = nanoTokenizer();
  std::string text;
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c < 0xE000)
      continue;
    if (c < 0x80) {
      text += char(c);
      continue;
    }
    int tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr int leads[] = {0, 0xC0, 0xE0, 0xF0};
    text += char(leads[tail] | c >> 6 * tail);
    while (tail-- > 0)
      text += char(0x80 | (c >> 6 * tail & 0x3F));
  }
  EXPECT_TRUE(decode(tokenizer, encodeOrFail(tokenizer, text, false)) == text);
}

TEST(Tokenizer, IllFormedText) {
  Result<std::vector<int32_t>> ids = nanoTokenizer().encode("abc\xFF", true);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.status().str(), "text: no valid UTF-8 at byte 3");
}

//===----------------------------------------------------------------------===//
// Broken and unsupported files
//===----------------------------------------------------------------------===//

struct Change {
  const char *path; // JSON pointer
  json value;
  const char *error;
};

void expectErrors(const std::string &path, const std::vector<Change> &changes) {
  json original = tokenizerJson(path);
  for (const Change &change : changes) {
    json changed = original;
    changed[json::json_pointer(change.path)] = change.value;
    Result<Tokenizer> tokenizer = Tokenizer::parse(changed.dump(), "t.json");
    ASSERT_FALSE(tokenizer.ok()) << change.path << " " << change.value;
    EXPECT_EQ(tokenizer.status().faults().front().rfind(
                  std::string("t.json: ") + change.error, 0),
              0u)
        << tokenizer.status().str();
  }
}

TEST(Tokenizer, UnsupportedFeatures) {
  expectErrors(
      byteTokenizerPath(),
      {{"/model", nullptr, "model: missing"},
       {"/model/type", "Unigram", "model.type: unsupported model \"Unigram\""},
       {"/model/dropout", 0.1, "model.dropout: unsupported value 0.1"},
       {"/model/unk_token", "?", "model.unk_token: unsupported value"},
       {"/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix: "},
       {"/model/byte_fallback", true, "model.byte_fallback: unsupported"},
       {"/model/ignore_merges", true, "model.ignore_merges: unsupported"},
       {"/truncation", {{"max_length", 5}}, "truncation: unsupported"},
       {"/padding", {{"strategy", "BatchLongest"}}, "padding: unsupported"},
       {"/normalizer", {{"type", "NFC"}}, "normalizer: unsupported"},
       {"/post_processor",
        {{"type", "TemplateProcessing"}},
        "post_processor: unsupported"},
       {"/decoder", {{"type", "WordPiece"}}, "decoder: unsupported"},
       {"/pre_tokenizer", nullptr, "pre_tokenizer: unsupported"},
       {"/pre_tokenizer/add_prefix_space", true,
        "pre_tokenizer.add_prefix_space: unsupported value true"},
       {"/pre_tokenizer/use_regex", false,
        "pre_tokenizer.use_regex: unsupported value false"},
       {"/added_tokens/0/lstrip", true, "added_tokens[0].lstrip: unsupported"},
       {"/added_tokens/3/single_word", true,
        "added_tokens[3].single_word: unsupported"}});
}

TEST(Tokenizer, UnsupportedSplits) {
  expectErrors(
      sourcePath("models/nano/tokenizer.json"),
      {{"/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\d",
        "pre_tokenizer.pretokenizers[0].pattern: unsupported, expected the "
        "Regex \"\\\\p{N}{1,3}\""},
       {"/pre_tokenizer/pretokenizers/2/pattern/Regex", "",
        "pre_tokenizer.pretokenizers[2].pattern: unsupported"},
       {"/pre_tokenizer/pretokenizers/1/behavior", "Removed",
        "pre_tokenizer.pretokenizers[1].behavior: unsupported"},
       {"/pre_tokenizer/pretokenizers/1/invert", true,
        "pre_tokenizer.pretokenizers[1].invert: unsupported value true"},
       {"/pre_tokenizer/pretokenizers/2/type", "Digits",
        "pre_tokenizer.pretokenizers[2].type: unsupported, expected Split"},
       {"/pre_tokenizer/pretokenizers/3/use_regex", true,
        "pre_tokenizer.pretokenizers[3].use_regex: unsupported"},
       {"/pre_tokenizer/pretokenizers", json::array(),
        "pre_tokenizer: unsupported"}});
}

TEST(Tokenizer, BrokenTokens) {
  expectErrors(
      byteTokenizerPath(),
      {{"/model/vocab", nullptr, "model.vocab: expected an object"},
       {"/model/vocab/a", -1, "model.vocab[\"a\"]: no token id: -1"},
       {"/model/vocab/a", 1.5, "model.vocab[\"a\"]: no token id: 1.5"},
       {"/model/vocab/a", 4294967296, "model.vocab[\"a\"]: no token id"},
       {"/model/vocab/a", 5, "id 5: is given to "},
       {"/model/vocab/a", 2000000000, "id 100: no token has it"},
       {"/model/vocab/日", 288, "model.vocab[\"日\"]: not byte-level"},
       {"/added_tokens/0/content", std::string(200000, 'a'),
        "added_tokens[0].content: added tokens are longer than 131072 bytes"},
       {"/added_tokens/0", 7, "added_tokens[0].content: expected a text"},
       {"/added_tokens/0/content", "", "added_tokens[0].content: expected"},
       {"/added_tokens/0/id", "x", "added_tokens[0].id: expected a token id"},
       {"/added_tokens/0/id", 7, "added_tokens[0].id: is 7, but model.vocab"},
       {"/added_tokens/1/content", "<｜begin▁of▁sentence｜>",
        "added_tokens[1].id: is 1, but model.vocab has this token as 0"},
       {"/added_tokens/1",
        {{"id", 0}, {"content", "<｜begin▁of▁sentence｜>"}},
        "added_tokens[1].content: added token \"<｜begin▁of▁sentence｜>\" is "
        "given twice"},
       {"/added_tokens/1",
        {{"id", 5}, {"content", "new"}},
        "id 5: is given to "}});
}

TEST(Tokenizer, BrokenMerges) {
  expectErrors(
      sourcePath("models/nano/tokenizer.json"),
      {{"/model/merges", nullptr, "model.merges: expected a list"},
       {"/model/merges/2", "ab", "model.merges[2]: expected two tokens"},
       {"/model/merges/2", " b", "model.merges[2]: expected two tokens"},
       {"/model/merges/2", {"a"}, "model.merges[2]: expected two tokens"},
       {"/model/merges/2", {"a", 1}, "model.merges[2]: expected two tokens"},
       {"/model/merges/2", "a zzz", "model.merges[2]: token \"zzz\" is not in"},
       {"/model/merges/2", "z z", "model.merges[2]: token \"zz\" is not in"},
       {"/model/merges/1", "t h", "model.merges[1]: this pair has a merge"}});
  json changed = tokenizerJson(byteTokenizerPath());
  changed["model"]["vocab"]["aa"] = changed["model"]["vocab"]["a"];
  changed["model"]["vocab"].erase("a");
  Result<Tokenizer> tokenizer = Tokenizer::parse(changed.dump(), "t.json");
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.status().str(),
            "t.json: model.vocab: no token for byte 97, spelled \"a\"");
}

TEST(Tokenizer, WrongContainersNameTheirLine) {
  for (const auto &[text, error] : std::map<std::string, std::string>{
           {"{\"model\": {\n\"vocab\": []}}",
            "t.json:2:10: model.vocab: expected an object"},
           {"{\"model\": {\n\"merges\": {}}}",
            "t.json:2:11: model.merges: expected a list"},
           {"{\n\n\"added_tokens\": {}}",
            "t.json:3:17: added_tokens: expected a list"}})
    EXPECT_EQ(Tokenizer::parse(text, "t.json").status().str(), error);
}

/// JSON objects have no order.
TEST(Tokenizer, MergesBeforeTokens) {
  json nano = tokenizerJson(sourcePath("models/nano/tokenizer.json"));
  json model = nano["model"];
  std::string merges = model["merges"].dump(), vocab = model["vocab"].dump();
  model.erase("merges");
  model.erase("vocab");
  nano.erase("model");
  std::string rest = nano.dump(), members = model.dump();
  std::string text = "{\"model\":{\"merges\":" + merges + "," +
                     members.substr(1, members.size() - 2) +
                     ",\"vocab\":" + vocab + "}," + rest.substr(1);
  Result<Tokenizer> tokenizer = Tokenizer::parse(text, "t.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  EXPECT_EQ(encodeOrFail(*tokenizer, "the beginning", false),
            encodeOrFail(nanoTokenizer(), "the beginning", false));
}

TEST(Tokenizer, MergesAsStringsOrPairs) {
  json changed = tokenizerJson(sourcePath("models/nano/tokenizer.json"));
  for (json &merge : changed["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  Result<Tokenizer> tokenizer = Tokenizer::parse(changed.dump(), "t.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  EXPECT_EQ(encodeOrFail(*tokenizer, "the beginning", false),
            encodeOrFail(nanoTokenizer(), "the beginning", false));
}

TEST(Tokenizer, NoJson) {
  EXPECT_FALSE(Tokenizer::load(sourcePath("no/such/file")).ok());
  for (const char *text : {"", "[]", "7", "{\"model\": 1}", "{"})
    EXPECT_FALSE(Tokenizer::parse(text, "t.json").ok()) << text;
}

} // namespace
