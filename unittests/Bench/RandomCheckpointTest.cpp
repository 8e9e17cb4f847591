//===- RandomCheckpointTest.cpp - Format and spread of random weights
//------===//

#include "dsflash/Bench/RandomCheckpoint.h"
#include "RandomWeights.h"
#include "dsflash/ABI/QuantFormats.h"
#include "dsflash/Tokens/TokenMap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace dsflash;
namespace fs = std::filesystem;

namespace {

const std::string kNano = DSFLASH_SOURCE_DIR "/models/nano/config.json";

class RandomCheckpointTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "dsflash-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder;
};

TEST_F(RandomCheckpointTest, FitsItsConfigInShards) {
  RandomCheckpointOptions options;
  options.shardBytes = 3 << 20;
  int64_t reported = 0;
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_LE(done, total);
    reported = done;
  };
  Status status = writeRandomCheckpoint(kNano, folder, options);
  ASSERT_TRUE(status.ok()) << status.str();

  Result<ModelConfig> config = loadModelConfig(folder / "config.json");
  ASSERT_TRUE(config.ok()) << config.status().str();
  Result<CheckpointIndex> index = CheckpointIndex::open(folder);
  ASSERT_TRUE(index.ok()) << index.status().str();
  EXPECT_TRUE(checkWeights(*config, *index).ok());
  EXPECT_GT(index->files().size(), 1u);
  int64_t bytes = 0;
  for (const CheckpointIndex::Entry &entry : index->tensors())
    bytes += int64_t(entry.tensor->size());
  EXPECT_EQ(bytes, reported);

  Result<Tokenizer> tokenizer = Tokenizer::load(folder / "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  EXPECT_EQ(tokenizer->vocabSize(), config->vocab_size);
  EXPECT_EQ(engramTokenMap(*tokenizer)->size,
            config->engram_compressed_vocab_size);
}

TEST_F(RandomCheckpointTest, Refuses) {
  EXPECT_FALSE(writeRandomCheckpoint(folder / "none.json", folder, {}).ok());
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(writeRandomCheckpoint(kNano, folder, {}).str(),
            folder.string() + ": is not empty; give a new folder");
}

TEST(ByteTokenizer, FillsThePublishedVocabulary) {
  Result<std::string> text = byteTokenizerJson(129280);
  ASSERT_TRUE(text.ok());
  Result<Tokenizer> tokenizer = Tokenizer::parse(*text, "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  EXPECT_EQ(tokenizer->vocabSize(), 129280);
}

TEST(ByteTokenizer, BytesBetweenSpecialTokens) {
  Result<std::string> text = byteTokenizerJson(300);
  ASSERT_TRUE(text.ok());
  Result<Tokenizer> tokenizer = Tokenizer::parse(*text, "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().str();
  EXPECT_EQ(tokenizer->vocabSize(), 300);
  EXPECT_EQ(tokenizer->idOf("<｜begin▁of▁sentence｜>"), 0);
  EXPECT_EQ(tokenizer->idOf("<｜end▁of▁sentence｜>"), 1);
  for (int32_t byte = 0; byte < 256; ++byte)
    EXPECT_EQ(tokenizer->bytes(3 + byte), std::string(1, char(byte)));
  EXPECT_EQ(tokenizer->idOf("<｜System｜>"), 259);
  EXPECT_TRUE(tokenizer->isAdded(264));
  EXPECT_FALSE(tokenizer->isAdded(265));
  EXPECT_EQ(tokenizer->bytes(265), "<｜place▁holder▁no▁0｜>");

  EXPECT_TRUE(byteTokenizerJson(265).ok());
  EXPECT_EQ(byteTokenizerJson(264).status().str(),
            "vocab_size: 264 has no room for the 265 bytes and special tokens");
}

/// Standard deviation and mean of the decoded values of a weight.
struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments(const WeightInfo &weight) {
  std::vector<TensorSpec> tensors = storedTensors(weight);
  std::vector<std::vector<uint8_t>> bytes(tensors.size());
  RandomWeights random(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Status status =
        random.write(weight, tensors[i], [&](const void *data, size_t size) {
          auto *first = static_cast<const uint8_t *>(data);
          bytes[i].insert(bytes[i].end(), first, first + size);
          return Status();
        });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(int64_t(bytes[i].size()), tensors[i].bytes());
  }
  std::vector<double> values;
  for (size_t i = 0; i < bytes[0].size(); ++i)
    switch (weight.format) {
    case WeightFormat::BF16:
      if (i % 2 == 0)
        values.push_back(
            dsf_bf16_decode(uint16_t(bytes[0][i] | bytes[0][i + 1] << 8)));
      break;
    case WeightFormat::F32:
      if (i % 4 == 0) {
        float value;
        std::memcpy(&value, &bytes[0][i], sizeof value);
        values.push_back(value);
      }
      break;
    case WeightFormat::FP4:
      for (int half : {bytes[0][i] & 15, bytes[0][i] >> 4})
        values.push_back(double(dsf_e2m1_decode(uint8_t(half))) *
                         dsf_e8m0_decode(bytes[1][0]));
      break;
    default:
      values.push_back(double(dsf_e4m3_decode(bytes[0][i])) *
                       dsf_e8m0_decode(bytes[1][0]));
    }
  Moments result;
  for (double value : values)
    result.mean += value / double(values.size());
  for (double value : values)
    result.deviation +=
        (value - result.mean) * (value - result.mean) / double(values.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(RandomWeights, SpreadInEveryFormat) {
  struct Case {
    const char *name;
    WeightFormat format;
    double mean, deviation;
  };
  const Case cases[] = {
      {"embed.weight", WeightFormat::BF16, 0, 0.12},
      {"layers.1.engram.embed.weight", WeightFormat::FP8Row, 0, 0.5},
      {"layers.3.attn.wq_a.weight", WeightFormat::FP8Block, 0, 1.6 / 16},
      {"layers.3.ffn.experts.7.w2.weight", WeightFormat::FP4, 0, 1.05 / 16},
      {"layers.3.attn_norm.weight", WeightFormat::BF16, 0.5, 0.1},
      {"layers.3.hc_attn_fn", WeightFormat::F32, 0, 1. / 16},
      {"layers.3.ffn.gate.bias", WeightFormat::F32, 0, 0.05},
  };
  for (const Case &expected : cases) {
    Moments seen = moments(
        {expected.name, expected.format, {64, 256}, ModelPart::Backbone});
    EXPECT_NEAR(seen.mean, expected.mean, 0.05 * expected.deviation)
        << expected.name;
    EXPECT_NEAR(seen.deviation, expected.deviation, 0.05 * expected.deviation)
        << expected.name;
  }
}

} // namespace
