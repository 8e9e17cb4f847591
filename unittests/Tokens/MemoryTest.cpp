//===- MemoryTest.cpp - Memory that reading JSON takes --------------------===//
//
// Texts that are made to be larger in memory than on disk. Counts what operator
// new is asked for; the texts themselves do not count.
//
//===----------------------------------------------------------------------===//

#include "TestInputs.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/Safetensors.h"
#include "dsflash/Tokens/TokenFile.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

using namespace dsflash;

namespace {
thread_local int64_t current = 0, peak = 0;
constexpr size_t kHeader = alignof(std::max_align_t);
} // namespace

void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  void *memory = std::malloc(bytes + kHeader);
  if (!memory)
    return nullptr;
  *static_cast<size_t *>(memory) = bytes;
  current += int64_t(bytes);
  peak = std::max(peak, current);
  return static_cast<char *>(memory) + kHeader;
}

void *operator new(size_t bytes) {
  void *memory = operator new(bytes, std::nothrow);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

void operator delete(void *pointer) noexcept {
  if (!pointer)
    return;
  void *memory = static_cast<char *>(pointer) - kHeader;
  current -= int64_t(*static_cast<size_t *>(memory));
  std::free(memory);
}

void operator delete(void *pointer, size_t) noexcept {
  operator delete(pointer);
}

namespace {

constexpr size_t kTextBytes = size_t(4) << 20;
constexpr int64_t kConstant = int64_t(4) << 20;

/// `open`, then `part` as often as it fits, then `close`.
std::string repeat(const std::string &open, const std::string &part,
                   const std::string &close) {
  std::string text = open;
  text.reserve(kTextBytes + part.size() + close.size());
  while (text.size() < kTextBytes)
    text += part;
  text.back() = ' '; // the last comma
  return text + close;
}

/// Most bytes in use at a time while `read` runs.
template <typename Function> int64_t peakOf(Function read) {
  int64_t before = current;
  peak = current;
  read();
  return peak - before;
}

const std::vector<std::string> kHostile = {
    repeat("[", "[],", "]"),
    repeat("[", "{},", "]"),
    repeat("[", "0,", "]"),
    repeat("[", "\"\",", "]"),
    repeat("[", "\"0123456789abcdef\",", "]"),
    repeat("[", "[[[[[[]]]]]],", "]"),
    repeat("{\"a\":[", "0,", "]}"),
    repeat("{", "\"a\":0,", "}"),
    repeat("{\"a\":{\"a\":{", "\"a\":0,", "}}}"),
    repeat("{\"__metadata__\":{", "\"a\":\"\",", "}}"),
    repeat("{", "\"__metadata__\":{\"a\":\"b\"},", "}"),
    repeat("\"", "a", "\""),
    repeat("[\"", "\\u00e9", "\"]"),
    repeat("", "1", ""),
    repeat("", ",", ""),
    repeat("", "[", ""),
};

TEST(JsonMemory, DocumentsAreBounded) {
  for (const std::string &text : kHostile)
    EXPECT_LT(peakOf([&] { EXPECT_FALSE(parseJson(text, "f").ok()); }),
              kConstant)
        << text.substr(0, 40);
}

TEST(JsonMemory, TokenFilesTakeTwiceTheirSize) {
  for (const std::string &text : kHostile)
    EXPECT_LT(peakOf([&] { (void)parseTokens(text, "f", 100); }),
              kConstant + 2 * int64_t(text.size()))
        << text.substr(0, 40);
}

class HeaderMemory : public testing::Test {
protected:
  std::string folder = testing::TempDir() + "dsflash-memory-test";
  std::string path = folder + "/header.safetensors";

  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Status open(const std::string &header) {
    {
      std::ofstream file(path, std::ios::binary);
      for (size_t i = 0; i < 8; ++i)
        file.put(char(header.size() >> (8 * i)));
      file << header;
    }
    Status status;
    used = peakOf([&] { status = SafetensorsFile::open(path).status(); });
    return status;
  }
  int64_t used = 0;
};

TEST_F(HeaderMemory, HostileHeaders) {
  for (const std::string &text : kHostile) {
    EXPECT_FALSE(open(text).ok());
    EXPECT_LT(used, kConstant + 2 * int64_t(text.size())) << text.substr(0, 40);
  }
}

/// Valid headers of the shortest entries, of names and of shapes.
TEST_F(HeaderMemory, ValidHeaders) {
  for (const char *shape : {"0", "0,1,1,1", "1,1,1,0"})
    for (size_t nameLength : {1, 16, 64}) {
      std::string header = "{";
      for (int i = 0; header.size() < kTextBytes; ++i) {
        std::string name = std::to_string(i);
        name.resize(std::max(name.size(), nameLength), 'x');
        header += (i ? ",\"" : "\"") + name +
                  "\":{\"dtype\":\"I8\",\"shape\":[" + shape +
                  "],\"data_offsets\":[0,0]}";
      }
      header += "}";
      EXPECT_EQ(open(header).str(), "");
      EXPECT_LT(used, kConstant + 2 * int64_t(header.size()))
          << shape << " " << nameLength << ": " << used << " bytes";
    }
}

TEST_F(HeaderMemory, Indexes) {
  auto openIndex = [&](const std::string &text) {
    std::ofstream(folder + "/model.safetensors.index.json") << text;
    Status status;
    used = peakOf([&] { status = CheckpointIndex::open(folder).status(); });
    return status;
  };
  std::vector<std::string> hostile = kHostile;
  for (const char *member : {"\"a\":\"b\",", "\"a\":0,", "\"a\":[],"})
    hostile.push_back(repeat("{\"weight_map\":{", member, "}}"));
  std::string shards = "{\"weight_map\":{";
  for (int i = 0; i < 500000; ++i)
    shards += (i ? ",\"a\":\"" : "\"a\":\"") + std::to_string(i) + "\"";
  hostile.push_back(shards + "}}");
  for (const std::string &text : hostile) {
    EXPECT_FALSE(openIndex(text).ok());
    EXPECT_LT(used, kConstant + 2 * int64_t(text.size())) << text.substr(0, 40);
  }

  std::string header = "{", index = "{\"weight_map\":{";
  for (int i = 0; i < 100000; ++i) {
    std::string name = (i ? ",\"" : "\"") + std::to_string(i) + "\":";
    header += name + "{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    index += name + "\"header.safetensors\"";
  }
  EXPECT_EQ(open(header + "}").str(), "");
  index += "}}";
  EXPECT_EQ(openIndex(index).str(), "");
  EXPECT_LT(used, kConstant + 2 * int64_t(header.size() + index.size()));
}

//===----------------------------------------------------------------------===//
// Tokenizers
//===----------------------------------------------------------------------===//

/// What the limits on tokens, merges and added tokens leave beyond twice the
/// text.
constexpr int64_t kTokenizerConstant = int64_t(10) << 20;

Status parseTokenizer(const std::string &text, int64_t &used) {
  Status status;
  used = peakOf([&] { status = Tokenizer::parse(text, "f").status(); });
  return status;
}

TEST(TokenizerMemory, HostileTexts) {
  std::vector<std::string> hostile = kHostile;
  for (const char *member :
       {"\"a\":0,", "\"a\":[],", "\"\":0,", "\"0123456789abcdef\":7,"})
    hostile.push_back(repeat("{\"model\":{\"vocab\":{", member, "}}}"));
  for (const char *merge : {"\"a a\",", "[\"a\",\"b\"],", "0,", "[],", "{},"})
    hostile.push_back(repeat("{\"model\":{\"merges\":[", merge, "]}}"));
  for (const char *token : {"{\"content\":\"a\",\"id\":0},", "0,", "{},"})
    hostile.push_back(repeat("{\"added_tokens\":[", token, "]}"));
  std::string unique = "{\"model\":{\"vocab\":{";
  for (int i = 0; i < 1000000; ++i)
    unique += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  hostile.push_back(unique + "}}}");
  for (const std::string &text : hostile) {
    int64_t used = 0;
    EXPECT_FALSE(parseTokenizer(text, used).ok());
    EXPECT_LT(used, kTokenizerConstant + 2 * int64_t(text.size()))
        << text.substr(0, 40);
  }
}

/// All words of one to three letters, every way to merge them, and one long
/// added token.
TEST(TokenizerMemory, DenseTokens) {
  nlohmann::json document =
      nlohmann::json::parse(readText(byteTokenizerPath()));
  document["added_tokens"].push_back(
      {{"id", 0}, {"content", std::string(100000, 'x')}});
  nlohmann::json &vocab = document["model"]["vocab"];
  nlohmann::json merges;
  auto add = [&](const std::string &word) {
    vocab.emplace(word, vocab.size());
    for (size_t i = 1; i < word.size(); ++i)
      merges.push_back(word.substr(0, i) + " " + word.substr(i));
  };
  std::string letters;
  for (char letter = '!'; letter < '!' + 62; ++letter)
    if (letter != '"' && letter != '\\')
      letters += letter;
  for (char a : letters)
    for (char b : letters) {
      add({a, b});
      for (char c : letters)
        add({a, b, c});
    }
  document["added_tokens"].back()["id"] = vocab.size();
  document["model"]["merges"] = merges;
  std::string text = document.dump();
  int64_t used = 0;
  EXPECT_EQ(parseTokenizer(text, used).str(), "");
  EXPECT_LT(used, kTokenizerConstant + 2 * int64_t(text.size()));
}

} // namespace
