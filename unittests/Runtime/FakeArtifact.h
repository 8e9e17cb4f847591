//===- FakeArtifact.h - A folder *.dsflash around the fake model *- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_RUNTIME_FAKEARTIFACT_H
#define DSFLASH_UNITTESTS_RUNTIME_FAKEARTIFACT_H

#include "dsflash/Runtime/Generator.h"
#include "dsflash/Runtime/Model.h"
#include "dsflash/Support/Safetensors.h"

#include "gtest/gtest.h"

#include <map>
#include <string>
#include <vector>

namespace dsflash::test {

constexpr int64_t kVocab = 288;

/// Ids of the fake tokenizer: 0..2 BOS, EOS, pad, then the 256 bytes, then
/// chat tokens and fillers.
inline int32_t byteId(char c) { return 3 + int32_t(static_cast<uint8_t>(c)); }

/// Logits of the fake model after these tokens, computed apart from it.
std::vector<float> fakeLogits(const std::vector<int32_t> &tokens);
/// What the fake model continues with, greedily.
std::vector<int32_t> fakeGreedy(std::vector<int32_t> tokens, int count);

/// A checkpoint of the fake model in memory; tests may damage it.
struct FakeCheckpoint {
  struct Tensor {
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<char> bytes;
  };
  FakeCheckpoint();
  void add(const std::string &name, DType dtype, std::vector<int64_t> shape,
           char fill);
  float *bias() {
    return reinterpret_cast<float *>(tensors.at("bias").bytes.data());
  }
  void write(const std::string &folder) const;

  std::map<std::string, Tensor> tensors;
};

/// Gives every test its own folder, removed behind it.
class FakeArtifactTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Writes an artifact around a variant of the fake model, and `checkpoint`
  /// as its weights.
  void writeArtifact(const std::string &variant = "fake_model",
                     const std::string &manifest = "");
  void writeTokenizer(const std::string &toFolder);
  void writeFile(const std::string &path, const std::string &text);
  /// Writes the artifact, opens and binds it.
  Model &openModel(const std::string &variant = "fake_model");
  ModelRunner &openRunner(const std::string &variant = "fake_model",
                          int threads = 1);

  std::string root, artifact, weights;
  std::string config; ///< digest in the manifest
  FakeCheckpoint checkpoint;
  std::unique_ptr<Model> model;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ModelRunner> runner;
};

} // namespace dsflash::test

#endif // DSFLASH_UNITTESTS_RUNTIME_FAKEARTIFACT_H
