//===- MemoryTest.cpp - Memory that reading JSON takes --------------------===//
//
// Texts that are made to be larger in memory than on disk. Counts what operator
// new is asked for; the texts themselves do not count.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Support/Json.h"
#include "dsflash/Support/Safetensors.h"
#include "dsflash/Tokens/TokenFile.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>

using namespace dsflash;

namespace {
thread_local int64_t current = 0, peak = 0;
constexpr size_t kHeader = alignof(std::max_align_t);
} // namespace

void *operator new(size_t bytes) {
  void *memory = std::malloc(bytes + kHeader);
  if (!memory)
    throw std::bad_alloc();
  *static_cast<size_t *>(memory) = bytes;
  current += int64_t(bytes);
  peak = std::max(peak, current);
  return static_cast<char *>(memory) + kHeader;
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

constexpr size_t kTextBytes = size_t(8) << 20;
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
  std::string path = testing::TempDir() + "/header.safetensors";

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
  ~HeaderMemory() override { std::remove(path.c_str()); }

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
      for (int i = 0; header.size() < kTextBytes / 2; ++i) {
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

} // namespace
