//===- CheckpointTest.cpp - Tensor plan and checkpoint folders ------------===//

#include "dsflash/Model/Checkpoint.h"
#include "TestConfigs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dsflash;
namespace fs = std::filesystem;

namespace {

TEST(TensorPlan, PublishedModel) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  std::vector<TensorSpec> plan = tensorPlan(*config);
  EXPECT_EQ(plan.size(), 96085u);
  int64_t bytes = 0;
  std::map<std::string, TensorSpec> byName;
  for (const TensorSpec &tensor : plan) {
    bytes += tensor.bytes();
    EXPECT_TRUE(byName.emplace(tensor.name, tensor).second) << tensor.name;
  }
  EXPECT_EQ(bytes, 510286023000);

  auto expectTensor = [&](const char *name, DType dtype,
                          std::vector<int64_t> shape) {
    ASSERT_EQ(byName.count(name), 1u) << name;
    EXPECT_EQ(byName[name].dtype, dtype) << name;
    EXPECT_EQ(byName[name].shape, shape) << name;
  };
  expectTensor("layers.1.engram.embed.weight", DType::F8_E4M3,
               {384006168, 256});
  expectTensor("layers.1.engram.embed.scale", DType::F8_E8M0, {384006168, 8});
  expectTensor("layers.20.ffn.experts.383.w2.weight", DType::I8, {5120, 1152});
  expectTensor("layers.20.ffn.experts.383.w2.scale", DType::F8_E8M0,
               {5120, 72});
  expectTensor("layers.0.attn.wo_a.weight", DType::F8_E4M3, {8192, 4096});
  expectTensor("layers.0.attn.wo_a.scale", DType::F8_E8M0, {256, 128});
  expectTensor("layers.2.attn.compressor.wgate.weight", DType::BF16,
               {512, 5120});
  expectTensor("mtp.0.main_proj.weight", DType::F8_E4M3, {5120, 15360});
  expectTensor("mtp.2.ffn.gate.bias_vl", DType::F32, {128});
  expectTensor("vision.blocks.31.attn.wqkv.bias", DType::BF16, {3072});
  EXPECT_EQ(byName.count("layers.20.attn.compressor.wgate.weight"), 0u);
  EXPECT_EQ(byName.count("layers.24.attn.indexer.wk.weight"), 0u);
}

TEST(ModelSizes, PublishedModel) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  ModelSizes sizes = modelSizes(*config);
  EXPECT_NEAR(sizes.backbone, 551.6e9, 0.05e9);
  EXPECT_NEAR(sizes.engram, 196.9e9, 0.05e9);
  EXPECT_NEAR(sizes.draft, 14.2e9, 0.05e9);
  EXPECT_NEAR(sizes.vision, 0.5e9, 0.05e9);
  EXPECT_NEAR(sizes.activePrefill, 7.89e9, 0.005e9);
  EXPECT_NEAR(sizes.activeDecode, 16.13e9, 0.005e9);
  EXPECT_EQ(sizes.kvBytesPerToken, 890);
}

class CheckpointTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() /
             ("dsflash-checkpoint-" + std::to_string(getpid()));
    fs::create_directories(folder);
    config = test::validConfig(test::smallConfig());
    plan = tensorPlan(config);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Writes tensors [begin, end) of the plan, all zero.
  void writeShard(const std::string &name, size_t begin, size_t end) {
    std::vector<char> zeros(1 << 20);
    std::vector<TensorView> views;
    for (size_t i = begin; i < end; ++i) {
      ASSERT_LE(size_t(plan[i].bytes()), zeros.size());
      views.push_back(
          {plan[i].name, plan[i].dtype, plan[i].shape, zeros.data()});
    }
    Status status = writeSafetensors(folder / name, views);
    ASSERT_TRUE(status.ok()) << status.str();
  }
  void writeIndex(const nlohmann::json &weightMap) {
    std::ofstream(folder / "model.safetensors.index.json")
        << nlohmann::json{{"weight_map", weightMap}};
  }
  /// Index of two shards that split the plan at this tensor.
  nlohmann::json splitMap(size_t split) {
    nlohmann::json map;
    for (size_t i = 0; i < plan.size(); ++i)
      map[plan[i].name] = i < split ? "a.safetensors" : "b.safetensors";
    return map;
  }
  std::string openFault() {
    return CheckpointIndex::open(folder).status().str();
  }

  fs::path folder;
  ModelConfig config;
  std::vector<TensorSpec> plan;
};

TEST_F(CheckpointTest, OneFileWithoutIndex) {
  writeShard("model.safetensors", 0, plan.size());
  writeShard("golden.safetensors", 0, 1);
  auto index = CheckpointIndex::open(folder);
  ASSERT_TRUE(index.ok()) << index.status().str();
  EXPECT_EQ(index->tensors().size(), plan.size());
  Status status = checkWeights(config, *index);
  EXPECT_TRUE(status.ok()) << status.str();
  EXPECT_NE(index->data("layers.0.attn.attn_sink"), nullptr);
  EXPECT_EQ(index->data("no.such.tensor"), nullptr);
}

TEST_F(CheckpointTest, TwoShards) {
  writeShard("a.safetensors", 0, 40);
  writeShard("b.safetensors", 40, plan.size());
  auto index = CheckpointIndex::open(folder);
  ASSERT_TRUE(index.ok()) << index.status().str();
  EXPECT_TRUE(checkWeights(config, *index).ok());
  writeIndex(splitMap(40));
  index = CheckpointIndex::open(folder);
  ASSERT_TRUE(index.ok()) << index.status().str();
  EXPECT_TRUE(checkWeights(config, *index).ok());
}

TEST_F(CheckpointTest, AllDifferencesAreListed) {
  std::string missing = plan[3].name;
  plan.erase(plan.begin() + 3);
  TensorSpec &shape = plan[10], &dtype = plan[0];
  std::string shapeName = shape.name;
  shape.shape[0] += 1;
  ASSERT_EQ(dtype.name, "embed.weight");
  dtype.dtype = DType::F16;
  plan.push_back({"layers.0.attn.q_head_norm.weight", DType::BF16, {64}});
  writeShard("model.safetensors", 0, plan.size());
  auto index = CheckpointIndex::open(folder);
  ASSERT_TRUE(index.ok()) << index.status().str();
  std::string where = folder.string() + ": ";
  std::vector<std::string> faults = checkWeights(config, *index).faults();
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[0], where + "embed.weight: is F16 [288, 128], the config "
                               "needs BF16 [288, 128]");
  EXPECT_EQ(faults[1].find(where + missing + ": missing, the config needs "),
            0u);
  EXPECT_EQ(faults[2].find(where + shapeName + ": is "), 0u);
  EXPECT_EQ(faults[3], where + "layers.0.attn.q_head_norm.weight: is no "
                               "tensor of this config");
}

TEST_F(CheckpointTest, FolderFaults) {
  EXPECT_EQ(openFault(), folder.string() + ": holds no *.safetensors file");
  fs::remove_all(folder);
  EXPECT_EQ(openFault(), folder.string() + ": no such folder");
}

TEST_F(CheckpointTest, IndexFaults) {
  writeShard("a.safetensors", 0, 40);
  writeShard("b.safetensors", 39, plan.size());
  std::string indexPath = folder / "model.safetensors.index.json";
  writeIndex(splitMap(40));
  EXPECT_EQ(openFault(), (folder / "b.safetensors").string() + ": " +
                             plan[39].name + ": is also in " +
                             (folder / "a.safetensors").string());
  writeShard("b.safetensors", 41, plan.size());
  EXPECT_EQ(openFault(),
            indexPath + ": " + plan[40].name + ": not in b.safetensors");
  writeShard("b.safetensors", 40, plan.size());
  writeIndex(splitMap(41));
  EXPECT_EQ(openFault(), indexPath + ": " + plan[40].name +
                             ": listed in a.safetensors, but b.safetensors "
                             "holds it");
  nlohmann::json map = splitMap(40);
  map.erase(plan[50].name);
  writeIndex(map);
  EXPECT_EQ(openFault(), indexPath + ": " + plan[50].name +
                             ": not listed, but b.safetensors holds it");
  writeIndex(nullptr);
  EXPECT_EQ(openFault(), indexPath + ": has no object \"weight_map\"");
  writeIndex(3);
  EXPECT_EQ(openFault(), indexPath + ":1:16: weight_map: expected an object");
  writeIndex({{"embed.weight", "../a.safetensors"}, {"norm.weight", 3}});
  EXPECT_EQ(openFault(), indexPath +
                             ": weight_map.embed.weight: "
                             "\"../a.safetensors\" is not a file of this "
                             "folder\n" +
                             indexPath +
                             ": weight_map.norm.weight: expected a file name");
  std::ofstream(indexPath) << "{\"weight_map\": {\"" << plan[0].name
                           << "\": \"a.safetensors\", \"" << plan[0].name
                           << "\": \"a.safetensors\"}}";
  EXPECT_EQ(openFault().substr(0, openFault().find('\n')),
            indexPath + ": " + plan[0].name + ": is listed twice");
  writeIndex({{"embed.weight", "c.safetensors"}});
  EXPECT_EQ(openFault(), (folder / "c.safetensors").string() +
                             ": cannot open: No such file or directory");
}

} // namespace
