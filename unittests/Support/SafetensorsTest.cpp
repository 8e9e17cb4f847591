//===- SafetensorsTest.cpp - Round trip and broken headers ----------------===//

#include "dsflash/Support/Safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dsflash;

namespace {

class SafetensorsTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("dsflash-safetensors-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    path = folder / "t.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void writeBytes(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// A file of this header length, header and number of zero data bytes.
  void writeRaw(uint64_t length, const std::string &header, size_t data) {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i)
      bytes[i] = char(length >> (8 * i));
    writeBytes(bytes + header + std::string(data, '\0'));
  }

  /// First fault of a file with this header, without the path.
  std::string faultOf(const std::string &header, size_t data) {
    writeRaw(header.size(), header, data);
    return fault();
  }
  std::string fault() {
    std::string text = SafetensorsFile::open(path).status().str();
    return text.compare(0, path.size() + 2, path + ": ") == 0
               ? text.substr(path.size() + 2)
               : text;
  }

  std::filesystem::path folder;
  std::string path;
};

std::string entry(const std::string &dtype, const std::string &shape,
                  const std::string &offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

TEST_F(SafetensorsTest, RoundTrip) {
  float floats[6] = {0, 1, -2, 3.5, 4, 5};
  uint8_t bytes[3] = {1, 2, 255};
  int64_t scalar = -7;
  Status written =
      writeSafetensors(path,
                       {{"z.floats", DType::F32, {2, 3}, floats},
                        {"bytes \"quoted\"", DType::U8, {3}, bytes},
                        {"scalar", DType::I64, {}, &scalar},
                        {"empty", DType::BF16, {0, 4}, nullptr}},
                       {{"format", "pt"}});
  ASSERT_TRUE(written.ok()) << written.str();
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(file->dataOffset() % 8, 0u);
  EXPECT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const TensorInfo *tensor = file->find("z.floats");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::F32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->size(), sizeof(floats));
  EXPECT_EQ(std::memcmp(file->data(*tensor), floats, sizeof(floats)), 0);
  tensor = file->find("bytes \"quoted\"");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(std::memcmp(file->data(*tensor), bytes, sizeof(bytes)), 0);
  tensor = file->find("scalar");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(std::memcmp(file->data(*tensor), &scalar, sizeof(scalar)), 0);
  EXPECT_EQ(file->find("empty")->size(), 0u);
  EXPECT_EQ(file->find("absent"), nullptr);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(SafetensorsTest, EveryDTypeHasItsNameBack) {
  for (const char *name :
       {"BF16", "F16", "F32", "F8_E4M3", "F8_E8M0", "I8", "U8", "I32", "I64"}) {
    ASSERT_TRUE(dtypeFromName(name)) << name;
    EXPECT_STREQ(dtypeName(*dtypeFromName(name)), name);
  }
  EXPECT_FALSE(dtypeFromName("F64"));
  EXPECT_EQ(dtypeSize(DType::F8_E8M0), 1u);
  EXPECT_EQ(dtypeSize(DType::BF16), 2u);
  EXPECT_EQ(dtypeSize(DType::I64), 8u);
}

TEST_F(SafetensorsTest, HeaderLength) {
  writeBytes("");
  EXPECT_EQ(fault(), "file of 0 bytes is too short for a safetensors header");
  writeBytes("1234567");
  EXPECT_EQ(fault(), "file of 7 bytes is too short for a safetensors header");
  writeRaw(0, "{}", 0);
  EXPECT_EQ(fault(), "header length 0 does not fit the file of 10 bytes");
  writeRaw(3, "{}", 0);
  EXPECT_EQ(fault(), "header length 3 does not fit the file of 10 bytes");
  writeRaw(uint64_t(-8), "{}", 0);
  EXPECT_EQ(fault(), "header length 18446744073709551608 does not fit the "
                     "file of 10 bytes");
  writeRaw(uint64_t(-1), "{}", 0);
  EXPECT_NE(fault(), "");
}

TEST_F(SafetensorsTest, TruncatedAtEveryByte) {
  float values[4] = {1, 2, 3, 4};
  ASSERT_TRUE(writeSafetensors(path, {{"a", DType::F32, {4}, values}}).ok());
  auto size = std::filesystem::file_size(path);
  for (auto length = size; length-- > 0;) {
    std::filesystem::resize_file(path, length);
    EXPECT_FALSE(SafetensorsFile::open(path).ok()) << length;
  }
}

TEST_F(SafetensorsTest, Offsets) {
  EXPECT_EQ(faultOf("{\"a\":" + entry("F32", "[2]", "[0,8]") + "}", 4),
            "a: data_offsets [0, 8] reach beyond the 4 bytes of data in the "
            "file");
  EXPECT_EQ(faultOf("{\"a\":" + entry("F32", "[2]", "[8,0]") + "}", 8),
            "a: data_offsets [8, 0] begin behind their end");
  EXPECT_EQ(faultOf("{\"a\":" + entry("F32", "[2]", "[0,4]") + "}", 4),
            "a: F32 [2] needs 8 bytes, data_offsets give 4");
  EXPECT_EQ(faultOf("{\"a\":" + entry("F32", "[2]", "[-8,0]") + "}", 8),
            "a: data_offsets is not a pair of offsets");
  EXPECT_EQ(faultOf("{\"a\":" + entry("F32", "[2]", "[0]") + "}", 8),
            "a: data_offsets is not a pair of offsets");
  EXPECT_EQ(
      faultOf("{\"a\":" + entry("U8", "[8]", "[18446744073709551608,0]") + "}",
              8),
      "a: data_offsets is not a pair of offsets");
}

TEST_F(SafetensorsTest, ShapeOverflow) {
  EXPECT_EQ(faultOf("{\"a\":" +
                        entry("F32", "[4294967296,4294967296]", "[0,0]") + "}",
                    0),
            "a: F32 [4294967296, 4294967296] needs more than 2^63 bytes, "
            "data_offsets give 0");
  EXPECT_EQ(
      faultOf("{\"a\":" + entry("F32", "[4611686018427387904]", "[0,0]") + "}",
              0),
      "a: F32 [4611686018427387904] needs more than 2^63 bytes, "
      "data_offsets give 0");
  EXPECT_EQ(
      faultOf("{\"a\":" + entry("F32", "[0,4294967296,4294967296]", "[0,0]") +
                  "}",
              0),
      "");
}

TEST_F(SafetensorsTest, Structure) {
  EXPECT_EQ(faultOf("[]", 0), "header:1:1: expected an object");
  EXPECT_EQ(faultOf("{\"a\":3}", 0), "a: expected an object");
  EXPECT_EQ(faultOf("{\"a\":{\"dtype\":\"F32\"}}", 0), "a: has no \"shape\"");
  EXPECT_EQ(faultOf("{\"a\":" + entry("F64", "[1]", "[0,8]") + "}", 8),
            "a: unknown dtype \"F64\"");
  EXPECT_EQ(faultOf("{\"a\":" + entry("U8", "1", "[0,1]") + "}", 1),
            "a: shape is not a list of at most 4 sizes");
  EXPECT_EQ(faultOf("{\"a\":" + entry("U8", "[1.5]", "[0,1]") + "}", 1),
            "a: shape is not a list of at most 4 sizes");
  EXPECT_EQ(faultOf("{\"a\":" + entry("U8", "[-1]", "[0,1]") + "}", 1),
            "a: shape is not a list of at most 4 sizes");
  EXPECT_EQ(faultOf("{\"__metadata__\":{\"a\":1}}", 0),
            "__metadata__/a: expected a string");
  std::string one = entry("U8", "[1]", "[0,1]");
  EXPECT_EQ(faultOf("{\"a\":" + one + ",\"a\":" + one + "}", 1),
            "a: tensor is given twice");
}

TEST_F(SafetensorsTest, CoverOfTheData) {
  std::string first = "{\"a\":" + entry("U8", "[4]", "[0,4]") + ",\"b\":";
  EXPECT_EQ(faultOf(first + entry("U8", "[4]", "[2,6]") + "}", 6),
            "b: overlaps the tensor before it, byte 2 is taken up to 4");
  EXPECT_EQ(faultOf(first + entry("U8", "[4]", "[6,10]") + "}", 10),
            "b: bytes 4 to 6 before it belong to no tensor");
  EXPECT_EQ(faultOf(first + entry("U8", "[4]", "[4,8]") + "}", 11),
            "3 bytes at the end belong to no tensor");
}

TEST_F(SafetensorsTest, AllFaultsAreListed) {
  std::string header = "{\"a\":" + entry("F64", "[1]", "[0,8]") +
                       ",\"b\":" + entry("U8", "[9]", "[0,8]") + "}";
  writeRaw(header.size(), header, 8);
  EXPECT_EQ(SafetensorsFile::open(path).status().faults().size(), 2u);
}

TEST_F(SafetensorsTest, WriterRefuses) {
  EXPECT_EQ(writeSafetensors(path, {{"a", DType::U8, {0}, nullptr},
                                    {"a", DType::U8, {0}, nullptr}})
                .str(),
            path + ": a: tensor is given twice");
  EXPECT_EQ(writeSafetensors(path, {{"a", DType::U8, {-1}, nullptr}}).str(),
            path + ": a: impossible shape [-1]");
  EXPECT_FALSE(std::filesystem::exists(path));
  std::string nowhere = folder / "no" / "t.safetensors";
  EXPECT_EQ(writeSafetensors(nowhere, {}).str(),
            nowhere + ": cannot write: No such file or directory");
}

TEST_F(SafetensorsTest, WriterTakesTheDataPieceByPiece) {
  std::vector<TensorView> tensors = {{"a", DType::U8, {3}, nullptr},
                                     {"b", DType::U8, {2}, nullptr}};
  {
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, tensors);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer->append("abcd", 4).ok());
    EXPECT_EQ(writer->finish().str(),
              path + ": 1 bytes of tensor data were not given");
    EXPECT_EQ(writer->append("ef", 2).str(),
              path + ": more data than the tensors need");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));

  Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, tensors);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(writer->append("ab", 2).ok());
  EXPECT_TRUE(writer->append("cde", 3).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(writer->finish().ok());
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(std::string(file->data(*file->find("b")), 2), "de");
}

} // namespace
