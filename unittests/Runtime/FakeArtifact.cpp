//===- FakeArtifact.cpp - A folder *.dsflash around the fake model --------===//

#include "FakeArtifact.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::test;
using nlohmann::json;
namespace fs = std::filesystem;

std::vector<float> test::fakeLogits(const std::vector<int32_t> &tokens) {
  uint64_t hash = 17;
  for (int32_t token : tokens)
    hash = (hash + uint64_t(token) + 1) * 6364136223846793005u;
  int64_t target = (tokens.back() + ((hash >> 33) % 4 == 0 ? 2 : 1)) % kVocab;
  std::vector<float> logits;
  for (int64_t i = 0; i < kVocab; ++i) {
    uint64_t x = (hash ^ uint64_t(i + 1)) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    logits.push_back(float(x >> 40) / 16777216.0f +
                     (i == target ? 8.0f : 0.0f));
  }
  return logits;
}

std::vector<int32_t> test::fakeGreedy(std::vector<int32_t> tokens, int count) {
  size_t prompt = tokens.size();
  for (int i = 0; i < count; ++i)
    tokens.push_back(argmax(fakeLogits(tokens).data(), kVocab));
  return {tokens.begin() + prompt, tokens.end()};
}

FakeCheckpoint::FakeCheckpoint() {
  add("bias", DType::F32, {kVocab}, 0);
  add("norm.weight", DType::BF16, {4, 16}, 0);
  for (int layer : {0, 2}) {
    std::string prefix = "layers." + std::to_string(layer) + ".";
    add(prefix + "w.weight", DType::F8_E4M3, {40, 64}, char(10 + layer));
    add(prefix + "w.scale", DType::F8_E8M0, {2, 2}, char(20 + layer));
    for (int expert : {0, 1}) {
      std::string name = prefix + "experts." + std::to_string(expert);
      add(name + ".weight", DType::I8, {8, 32}, char(30 + layer + expert));
      add(name + ".scale", DType::F8_E8M0, {8, 2}, char(40 + layer + expert));
    }
  }
}

void FakeCheckpoint::add(const std::string &name, DType dtype,
                         std::vector<int64_t> shape, char fill) {
  size_t bytes = dtypeSize(dtype);
  for (int64_t extent : shape)
    bytes *= size_t(extent);
  tensors[name] = {dtype, std::move(shape), std::vector<char>(bytes, fill)};
}

void FakeCheckpoint::write(const std::string &folder) const {
  std::vector<TensorView> views;
  for (const auto &[name, tensor] : tensors)
    views.push_back({name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  Status status = writeSafetensors(folder + "/model.safetensors", views);
  ASSERT_TRUE(status.ok()) << status.str();
}

void FakeArtifactTest::SetUp() {
  std::string pattern = fs::temp_directory_path() / "dsflash-test-XXXXXX";
  root = mkdtemp(pattern.data());
  artifact = root + "/fake.dsflash";
  weights = root + "/weights";
  fs::create_directories(artifact);
  fs::create_directories(weights);
}

void FakeArtifactTest::TearDown() {
  runner.reset();
  model.reset();
  fs::remove_all(root);
}

void FakeArtifactTest::writeFile(const std::string &path,
                                 const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

void FakeArtifactTest::writeArtifact(const std::string &variant,
                                     const std::string &manifest) {
  // A loaded module keeps its old file.
  fs::remove(artifact + "/model.so");
  fs::copy_file(FAKE_MODELS "/" + variant + ".so", artifact + "/model.so");
  json facts = {{"format", 1},          {"abi", DSF_ABI_VERSION},
                {"compiler", "fake 1"}, {"numerics", "ideal"},
                {"target", "any"},      {"weights", "../weights"},
                {"bos_token_id", 0},    {"eos_token_id", 1},
                {"pad_token_id", 2},    {"config", config}};
  writeFile(artifact + "/manifest.json",
            manifest.empty() ? facts.dump() : manifest);
  checkpoint.write(weights);
}

/// The usual printable stand-in for a byte, as UTF-8.
static std::string byteCharacter(int byte) {
  int extra = 0, code = 0;
  for (int b = 0; b <= byte; ++b) {
    bool keep = (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174;
    code = keep ? b : 256 + extra++;
  }
  if (code < 128)
    return std::string(1, char(code));
  return {char(0xc0 | code >> 6), char(0x80 | (code & 63))};
}

void FakeArtifactTest::writeTokenizer(const std::string &toFolder) {
  json vocab = json::object(), added = json::array();
  auto addSpecial = [&](int id, const std::string &text) {
    vocab[text] = id;
    added.push_back({{"id", id},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  };
  const char *specials[] = {"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>",
                            "<｜▁pad▁｜>"};
  const char *chat[] = {"<｜System｜>", "<｜User｜>", "<｜Assistant｜>",
                        "<think>", "</think>"};
  for (int id = 0; id < 3; ++id)
    addSpecial(id, specials[id]);
  for (int byte = 0; byte < 256; ++byte)
    vocab[byteCharacter(byte)] = 3 + byte;
  for (int id = 259; id < kVocab; ++id)
    addSpecial(id, id < 264 ? chat[id - 259]
                            : "<filler " + std::to_string(id) + ">");
  json split = {{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", true}};
  json document = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", split},
      {"post_processor", nullptr},
      {"decoder", split},
      {"model",
       {{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array()}}}};
  writeFile(toFolder + "/tokenizer.json", document.dump());
}

Model &FakeArtifactTest::openModel(const std::string &variant) {
  writeArtifact(variant);
  Result<std::unique_ptr<Model>> opened = Model::open(artifact);
  EXPECT_TRUE(opened.ok()) << opened.status().str();
  model = std::move(*opened);
  Status status = model->bindWeights();
  EXPECT_TRUE(status.ok()) << status.str();
  return *model;
}

ModelRunner &FakeArtifactTest::openRunner(const std::string &variant,
                                          int threads) {
  openModel(variant);
  pool = std::make_unique<ThreadPool>(threads);
  Result<std::unique_ptr<ModelRunner>> created =
      ModelRunner::create(*model, *pool);
  EXPECT_TRUE(created.ok()) << created.status().str();
  runner = std::move(*created);
  return *runner;
}
