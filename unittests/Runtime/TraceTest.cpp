//===- TraceTest.cpp - Recording and replacing observed values ------------===//

#include "FakeArtifact.h"

#include "dsflash/Runtime/Generator.h"
#include "dsflash/Runtime/Trace.h"

#include <cstring>

using namespace dsflash;
using namespace dsflash::test;

namespace {

class TraceTest : public FakeArtifactTest {
protected:
  TraceTest() {
    options.sampling.temperature = 0;
    options.maxTokens = 1;
    options.chunk = 2;
  }

  Status trace(const std::vector<std::vector<int32_t>> &prompts,
               const std::string &force = "") {
    std::vector<int64_t> lengths;
    for (const std::vector<int32_t> &prompt : prompts)
      lengths.push_back(int64_t(prompt.size()));
    Result<std::unique_ptr<Trace>> created =
        Trace::create(model->module(), lengths, {true, force});
    if (!created)
      return created.status();
    Generator generator(*runner, options, {}, created->get());
    Result<std::vector<SequenceResult>> run = generator.run(prompts);
    if (!run)
      return run.status();
    results = std::move(*run);
    Status status = (*created)->checkForced();
    status.add((*created)->write(path()));
    Result<SafetensorsFile> opened = SafetensorsFile::open(path());
    EXPECT_TRUE(opened.ok());
    file = std::move(*opened);
    return status;
  }

  std::string path() const { return root + "/trace.safetensors"; }

  template <typename T> std::vector<T> values(const std::string &name) {
    const TensorInfo *tensor = file->find(name);
    EXPECT_NE(tensor, nullptr) << name;
    if (!tensor)
      return {};
    std::vector<T> result(tensor->size() / sizeof(T));
    std::memcpy(result.data(), file->data(*tensor), tensor->size());
    return result;
  }

  GenerationOptions options;
  std::vector<SequenceResult> results;
  std::optional<SafetensorsFile> file;
};

using Shape = std::vector<int64_t>;

TEST_F(TraceTest, RecordsByPosition) {
  openRunner();
  ASSERT_TRUE(trace({{0, 60, 70, 80, 90}}).ok());
  const TensorInfo *selected = file->find("layers.2.attn.selected");
  ASSERT_NE(selected, nullptr);
  EXPECT_EQ(selected->dtype, DType::I32);
  EXPECT_EQ(selected->shape, (Shape{5, 3}));
  std::vector<int32_t> rows = values<int32_t>("layers.2.attn.selected");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(rows[3 * i], i);
  EXPECT_EQ(rows[1], 2);
  EXPECT_EQ(values<float>("layers.0.attn.stream")[5], 70);
  EXPECT_EQ(file->find("head.pre")->shape, (Shape{5}));
}

// Rows of positions 1 and 3; position 4 starts a group that is not whole.
TEST_F(TraceTest, CompressedRows) {
  openRunner();
  ASSERT_TRUE(trace({{0, 60, 70, 80, 90}}).ok());
  EXPECT_EQ(file->find("layers.0.attn.kv_global")->shape, (Shape{2, 1}));
  EXPECT_EQ(values<float>("layers.0.attn.kv_global"),
            (std::vector<float>{10, 30}));
}

TEST_F(TraceTest, WideIntegersStayWideOnlyWhereNeeded) {
  openRunner();
  ASSERT_TRUE(trace({{0, 60}}).ok());
  EXPECT_EQ(values<int32_t>("layers.0.engram.rows"),
            (std::vector<int32_t>{0, 0, 60, 0}));
  EXPECT_EQ(file->find("layers.2.engram.rows")->dtype, DType::I64);
  EXPECT_EQ(values<int64_t>("layers.2.engram.rows")[3], int64_t(1) << 40);
}

TEST_F(TraceTest, FirstDraftBlock) {
  openRunner();
  ASSERT_TRUE(trace({{0, 60, 70}}).ok());
  int32_t next = fakeGreedy({0, 60, 70}, 1)[0];
  std::vector<int32_t> drafted = values<int32_t>("draft.tokens");
  ASSERT_EQ(drafted.size(), 5u);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(drafted[i], next + 1 + i);
  EXPECT_EQ(file->find("draft.logits")->shape, (Shape{5, kVocab}));
  EXPECT_EQ(file->find("draft.confidence")->shape, (Shape{5}));
}

TEST_F(TraceTest, SequencesHaveTheirPrefix) {
  openRunner();
  ASSERT_TRUE(trace({{0, 60, 70}, {80}}).ok());
  EXPECT_EQ(values<float>("p0.layers.0.attn.stream")[3], 60);
  EXPECT_EQ(values<float>("p1.layers.0.attn.stream")[1], 80);
  EXPECT_EQ(file->find("p1.layers.0.attn.kv_global"), nullptr);
  EXPECT_NE(file->find("p1.draft.tokens"), nullptr);
}

TEST_F(TraceTest, LogitsDoNotDependOnIt) {
  openRunner();
  options.keepLogits = true;
  ASSERT_TRUE(trace({{0, 60, 70}}).ok());
  Result<std::vector<SequenceResult>> plain =
      Generator(*runner, options).run({{0, 60, 70}});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(results[0].promptLogits, (*plain)[0].promptLogits);
}

// The fake model continues from the token value in its stream.
TEST_F(TraceTest, ForcedValuesAreUsedAndNotRecorded) {
  openRunner();
  std::string force = root + "/force.safetensors";
  const float stream[] = {0, 0, 0, 0, 0, 200};
  ASSERT_TRUE(writeSafetensors(
                  force, {{"layers.2.attn.stream", DType::F32, {3, 2}, stream}})
                  .ok());
  ASSERT_TRUE(trace({{0, 60, 70}}, force).ok());
  EXPECT_GE(results[0].tokens[0], 201);
  EXPECT_LE(results[0].tokens[0], 202);
  EXPECT_EQ(values<float>("layers.2.attn.stream")[5], 70);
}

TEST_F(TraceTest, ForcedValuesMayBeBF16) {
  openRunner();
  std::string force = root + "/force.safetensors";
  const uint16_t stream[] = {0, 0x4348}; // 0, 200
  ASSERT_TRUE(
      writeSafetensors(force,
                       {{"layers.0.attn.stream", DType::BF16, {1, 2}, stream}})
          .ok());
  ASSERT_TRUE(trace({{60}}, force).ok());
  EXPECT_GE(results[0].tokens[0], 201);
  EXPECT_LE(results[0].tokens[0], 202);
}

TEST_F(TraceTest, ForcedFaults) {
  openRunner();
  std::string force = root + "/force.safetensors";
  const float values[8] = {};
  ASSERT_TRUE(writeSafetensors(
                  force, {{"layers.0.attn.stream", DType::F32, {2, 2}, values}})
                  .ok());
  EXPECT_EQ(trace({{0, 60, 70}}, force).str(),
            force + ": tensor 'layers.0.attn.stream' has shape [2, 2], the "
                    "prompt needs [3, 2]");
  ASSERT_TRUE(writeSafetensors(
                  force, {{"layers.0.attn.stream", DType::I32, {1, 2}, values}})
                  .ok());
  EXPECT_EQ(trace({{60}}, force).str(),
            force + ": tensor 'layers.0.attn.stream' is I32, only F32 and BF16 "
                    "can replace values");
  ASSERT_TRUE(
      writeSafetensors(force, {{"other", DType::F32, {1, 2}, values}}).ok());
  EXPECT_EQ(trace({{60}}, force).str(),
            force + ": no tensor has the name of a 'stream' or 'pre' "
                    "observation point of this model");
}

TEST_F(TraceTest, NeedsObservationPoints) {
  openRunner("fake_no_drafts");
  EXPECT_EQ(trace({{60}}).str(), "model.so: no observation points; compile the "
                                 "model with --probes");
}

} // namespace
