//===- CheckRollback.cpp - Every accepted length of a compiled model ------===//
//
//   dsflash-check-rollback MODEL.dsflash
//
// Verifies blocks of all widths in which just so many drafts are right, takes
// the others back and goes on: all logits and drafts must be the bits of a
// sequence that never had a wrong token. Two sequences share every call, of
// which the second accepts everything.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Runtime/Drafting.h"

#include <cstring>
#include <iostream>

using namespace dsflash;

namespace {

constexpr int64_t kSteps = 2;

class Check {
public:
  explicit Check(ModelRunner &runner)
      : runner(runner), module(runner.model().module()) {
    for (int64_t i = 0; i < module.sliding_window * 2 + 60; ++i)
      text.push_back(int32_t((i * 37 + i / 5 + 3) % module.vocab_size));
  }

  /// Fails at the first difference.
  Status run() {
    // Before the window is full and behind it, in turns.
    for (int64_t width = 1; width <= module.draft_block; ++width)
      for (int64_t right = 0; right <= width; ++right) {
        int64_t length = (width + right) % 2 ? 1 : module.sliding_window + 1;
        if (Status status = compare(length, width, right); !status)
          return status;
      }
    return Status();
  }

private:
  Result<Session> start(int64_t length, int64_t index) {
    Result<Session> session = Session::create(module, index);
    if (!session)
      return session;
    if (Status status = step({&*session},
                             {{text.begin(), text.begin() + length}}, {length});
        !status)
      return status;
    return session;
  }

  /// One call with these rows, of which the sessions keep so many.
  Status step(const std::vector<Session *> &sessions,
              const std::vector<std::vector<int32_t>> &rows,
              const std::vector<int64_t> &kept) {
    std::vector<SequenceInput> inputs;
    for (size_t i = 0; i < sessions.size(); ++i)
      inputs.push_back(
          {sessions[i], rows[i].data(), int64_t(rows[i].size()), 1});
    if (Status status = runner.forward(inputs); !status)
      return status;
    for (size_t i = 0; i < sessions.size(); ++i)
      sessions[i]->truncate(sessions[i]->length() - int64_t(rows[i].size()) +
                            kept[i]);
    return runner.draftContext(kept);
  }

  Status compare(int64_t length, int64_t width, int64_t right) {
    Result<Session> plain = start(length, 0), drafted = start(length, 0),
                    other = start(length, 1);
    for (const Result<Session> *session : {&plain, &drafted, &other})
      if (!*session)
        return session->status();
    auto at = text.begin() + length;
    std::vector<int32_t> block(at, at + 1 + width), whole = block;
    for (int64_t i = 1 + right; i <= width; ++i)
      block[size_t(i)] = (block[size_t(i)] + 1) % int32_t(module.vocab_size);
    if (Status status =
            step({&*drafted, &*other}, {block, whole}, {1 + right, 1 + width});
        !status)
      return status;
    for (int64_t i = 0; i <= right; ++i)
      if (Status status = step({&*plain}, {{at[i]}}, {1}); !status)
        return status;

    std::string where = std::to_string(length) + " tokens, width " +
                        std::to_string(width) + ", " + std::to_string(right) +
                        " accepted, ";
    for (int64_t i = 0; i < kSteps; ++i) {
      int32_t next = at[1 + right + i];
      Result<DraftBlock> expected = draftGreedy(runner, *plain, next);
      Result<DraftBlock> found = draftGreedy(runner, *drafted, next);
      if (!expected || !found)
        return expected ? found.status() : expected.status();
      if (expected->logits != found->logits)
        return Status::error(where + "step " + std::to_string(i),
                             "other drafts");
      if (Status status = step({&*plain}, {{next}}, {1}); !status)
        return status;
      std::vector<float> logits(runner.logits(0, 0),
                                runner.logits(0, 0) + module.vocab_size);
      if (Status status = step({&*drafted}, {{next}}, {1}); !status)
        return status;
      if (std::memcmp(logits.data(), runner.logits(0, 0),
                      logits.size() * sizeof(float)))
        return Status::error(where + "step " + std::to_string(i),
                             "other logits");
    }
    return compareState(where, *plain, *drafted);
  }

  /// Global rows and keys.
  Status compareState(const std::string &where, const Session &plain,
                      const Session &drafted) const {
    for (int64_t i = 0; i < module.state_count; ++i) {
      const dsf_state &plane = module.states[i];
      auto bytes = size_t(usedRows(plane, plain.length()) * plane.row_bytes);
      if (plane.positions_per_row > 0 &&
          std::memcmp(plain.plane(plane), drafted.plane(plane), bytes))
        return Status::error(where + plane.name, "other rows");
    }
    return Status();
  }

  ModelRunner &runner;
  const dsf_module &module;
  std::vector<int32_t> text;
};

Status check(const char *path) {
  Result<std::unique_ptr<Model>> model = Model::open(path);
  if (!model)
    return model.status();
  if (Status status = (*model)->bindWeights(); !status)
    return status;
  ThreadPool pool(0);
  Result<std::unique_ptr<ModelRunner>> runner =
      ModelRunner::create(**model, pool);
  return runner ? Check(**runner).run() : runner.status();
}

} // namespace

int main(int argc, char **argv) {
  Status status = argc == 2 ? check(argv[1]) : Status::error("usage", "MODEL");
  if (!status)
    std::cerr << status.str() << "\n";
  return status ? 0 : 1;
}
