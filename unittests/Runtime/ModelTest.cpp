//===- ModelTest.cpp - Opening artifacts and binding weights --------------===//

#include "FakeArtifact.h"

#include <filesystem>

using namespace dsflash;
using namespace dsflash::test;

namespace {

class ModelTest : public FakeArtifactTest {
protected:
  std::string openError() {
    Result<std::unique_ptr<Model>> opened = Model::open(artifact);
    return opened ? "" : opened.status().str();
  }
  std::string bindError() {
    writeArtifact();
    Result<std::unique_ptr<Model>> opened = Model::open(artifact);
    EXPECT_TRUE(opened.ok()) << opened.status().str();
    return (*opened)->bindWeights().str();
  }
};

/// A manifest of what is needed, and `more`.
std::string manifestWith(const std::string &more) {
  return R"({"format": 1, "abi": )" + std::to_string(DSF_ABI_VERSION) + more +
         "}";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

TEST_F(ModelTest, BindsEverySlot) {
  const void *const *slots = openModel().weights()->slots();
  auto byteAt = [&](int slot) {
    return *static_cast<const char *>(slots[slot]);
  };
  // Layers 0 and 2 own weight and scale at 1 + 2 * layer.
  EXPECT_EQ(byteAt(1), 10);
  EXPECT_EQ(byteAt(2), 20);
  EXPECT_EQ(slots[3], nullptr);
  EXPECT_EQ(byteAt(5), 12);
  EXPECT_EQ(byteAt(6), 22);
  // Two experts each, at 7 + (2 * layer + expert) * 2.
  EXPECT_EQ(byteAt(7), 30);
  EXPECT_EQ(byteAt(9), 31);
  EXPECT_EQ(slots[11], nullptr);
  EXPECT_EQ(byteAt(15), 32);
  EXPECT_EQ(byteAt(17), 33);
  EXPECT_EQ(byteAt(18), 43);
  EXPECT_NE(slots[19], nullptr);
}

TEST_F(ModelTest, CountsTouchedWeights) {
  const Model &opened = openModel();
  volatile char touched =
      *static_cast<const char *>(opened.weights()->slots()[0]);
  (void)touched;
  EXPECT_GE(opened.weights()->bytesRead(), 4096);
  EXPECT_LE(opened.weights()->bytesRead(), 64 * 1024);
}

// 16 bytes each position and 8 each second one.
TEST_F(ModelTest, KvBytes) {
  const Model &opened = openModel();
  EXPECT_EQ(opened.kvBytesPerToken(), 20);
  EXPECT_EQ(opened.kvBytes(5), 5 * 16 + 2 * 8);
}

TEST_F(ModelTest, NotAnArtifact) {
  EXPECT_EQ(Model::open(root + "/none").status().str(),
            root + "/none: no compiled model: not a folder");
  EXPECT_TRUE(contains(openError(), "manifest.json"));
  writeArtifact();
  std::filesystem::remove(artifact + "/model.so");
  EXPECT_TRUE(contains(openError(), "model.so"));
  writeFile(artifact + "/model.so", "no ELF file");
  EXPECT_TRUE(contains(openError(), "model.so"));
}

TEST_F(ModelTest, ManifestFaultsAreAllListed) {
  writeArtifact("fake_model", R"({"format": 9, "abi": 99, "weights": 5,
                                 "bos_token_id": 18446744073709551615,
                                 "eos_token_id": 2147483648,
                                 "operations": {"phases": "many"}})");
  std::string error = openError();
  EXPECT_TRUE(contains(error, "format 9, this runtime reads format 1"));
  EXPECT_TRUE(contains(error, "ABI version 99, this runtime needs version " +
                                  std::to_string(DSF_ABI_VERSION)));
  EXPECT_TRUE(contains(error, "'weights' must be a string"));
  EXPECT_TRUE(contains(error, "'bos_token_id' must be an integer of 64 bits"));
  EXPECT_TRUE(contains(error, "'eos_token_id' is no token id"));
  EXPECT_TRUE(contains(error, "'phases' must be an integer of 64 bits"));
  writeArtifact("fake_model", R"({"format": 9, "abi": 99, "operations": 5})");
  EXPECT_TRUE(contains(openError(), "'operations' must be an object"));
}

TEST_F(ModelTest, OperationsOfTheManifest) {
  writeArtifact("fake_model",
                manifestWith(R"(, "operations": {"phases": 3, "llvm": 5})"));
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok());
  std::map<std::string, int64_t> expected = {{"phases", 3}, {"llvm", 5}};
  EXPECT_EQ((*opened)->manifest().operations, expected);
}

TEST_F(ModelTest, OtherAbiVersionNamesBoth) {
  writeArtifact("fake_other_abi");
  EXPECT_TRUE(contains(openError(), "model.so: the model was compiled for ABI "
                                    "version 5, this runtime needs version " +
                                        std::to_string(DSF_ABI_VERSION)));
}

TEST_F(ModelTest, MissingCpuFeaturesAreNamed) {
  writeArtifact("fake_features");
  EXPECT_TRUE(contains(openError(),
                       "model.so: this processor lacks features that the model "
                       "was compiled for: no-such-unit, nor-this"));
}

TEST_F(ModelTest, UnknownTensorOfAnEntry) {
  Model &opened = openModel("fake_unknown_tensor");
  ThreadPool threads(1);
  Result<std::unique_ptr<ModelRunner>> created =
      ModelRunner::create(opened, threads);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.status().str(),
            artifact + "/model.so: entry 'forward': tensor 'tokenz' is not "
                       "known to this runtime");
}

TEST_F(ModelTest, AllWeightFaultsAreListed) {
  checkpoint.tensors.erase("layers.2.w.scale");
  checkpoint.tensors.erase("layers.0.experts.1.weight");
  checkpoint.add("norm.weight", DType::F32, {4, 16}, 0);
  checkpoint.add("layers.0.w.weight", DType::F8_E4M3, {40, 32}, 0);
  checkpoint.add("bias", DType::F32, {kVocab, 1}, 0);
  std::string error = bindError();
  EXPECT_TRUE(contains(error, "tensor 'layers.2.w.scale' is missing"));
  EXPECT_TRUE(contains(error, "tensor 'layers.0.experts.1.weight' is missing"));
  EXPECT_TRUE(contains(error, "tensor 'norm.weight' is F32, the model was "
                              "compiled for BF16"));
  EXPECT_TRUE(contains(error, "tensor 'layers.0.w.weight' has shape [40, 32], "
                              "the model was compiled for [40, 64]"));
  EXPECT_TRUE(contains(error, "tensor 'bias' has shape [288, 1], the model was "
                              "compiled for [1, 288]"));
}

TEST_F(ModelTest, OneRowMayBeAMatrix) {
  checkpoint.add("bias", DType::F32, {1, kVocab}, 0);
  EXPECT_EQ(bindError(), "");
}

TEST_F(ModelTest, NoWeightsFolder) {
  writeArtifact("fake_model", manifestWith(R"(, "weights": "")"));
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(contains((*opened)->bindWeights().str(), "--weights"));
  EXPECT_FALSE((*opened)->bindWeights(root + "/none").ok());
  EXPECT_TRUE((*opened)->bindWeights(weights).ok());
}

TEST_F(ModelTest, TruncatedWeights) {
  writeArtifact();
  std::filesystem::resize_file(weights + "/model.safetensors", 100);
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(contains((*opened)->bindWeights().str(), "model.safetensors"));
}

TEST_F(ModelTest, TokenizerOfArtifactOrWeights) {
  EXPECT_EQ(openModel().tokenizer(), nullptr);
  writeTokenizer(weights);
  ASSERT_NE(openModel().tokenizer(), nullptr);
  EXPECT_EQ(model->tokenizer()->bytes(byteId('x')), "x");
}

TEST_F(ModelTest, EndTokensByTheirText) {
  writeArtifact("fake_model", manifestWith(""));
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->manifest().eosToken, -1);
  writeTokenizer(artifact);
  opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok()) << opened.status().str();
  EXPECT_EQ((*opened)->manifest().bosToken, 0);
  EXPECT_EQ((*opened)->manifest().eosToken, 1);
}

TEST_F(ModelTest, TokenMapNeedsATokenizer) {
  writeArtifact("fake_token_map");
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(contains((*opened)->bindWeights().str(), "no tokenizer.json"));
}

TEST_F(ModelTest, TokenMapIsComputed) {
  writeTokenizer(artifact);
  const void *const *slots = openModel("fake_token_map").weights()->slots();
  auto *map = static_cast<const int32_t *>(slots[20]);
  EXPECT_EQ(map[0], 0);
  // Upper and lower case share an id.
  EXPECT_EQ(map[byteId('A')], map[byteId('a')]);
  EXPECT_NE(map[byteId('A')], map[byteId('b')]);
}

} // namespace
