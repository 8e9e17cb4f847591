//===- CApiSession.h - A sequence of the C API ------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_RUNTIME_CAPISESSION_H
#define DSFLASH_LIB_RUNTIME_CAPISESSION_H

#include "dsflash/Runtime/Drafting.h"
#include "dsflash/Runtime/dsflash.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dsflash {

/// Keeps a message for dsf_last_error.
dsf_status fail(dsf_status code, const std::string &message);
dsf_status fail(dsf_status code, const Status &status);

} // namespace dsflash

/// A sequence, and the threads and buffers that compute it.
struct dsf_session {
  dsf_session(std::shared_ptr<const dsflash::Model> model,
              const dsf_session_options &options, dsflash::Session session)
      : model(std::move(model)), pool(options.threads),
        state{std::move(session),
              dsflash::Sampler(
                  {options.temperature, options.top_p, options.seed}),
              0,
              {},
              {}},
        drafts(options.draft == DSF_DRAFT_AUTO
                   ? this->model->module().draft_block
                   : options.draft),
        schedulesDrafts(options.draft == DSF_DRAFT_AUTO) {}

  int64_t length() const {
    return state.session.length() + int64_t(waiting.size());
  }
  dsf_status feed(const int32_t *ids, size_t count, bool more);
  /// Appends what the next step gains, behind logits or a token that it drew.
  dsf_status generate(std::vector<int32_t> &ids);
  dsflash::Status truncate(int64_t length);
  void clear();

  std::shared_ptr<const dsflash::Model> model;
  dsflash::ThreadPool pool;
  std::unique_ptr<dsflash::ModelRunner> runner;
  dsflash::DecodeState state;
  /// Tokens of a step, at most; the draft layers see all positions unless it
  /// is 0.
  int64_t drafts;
  /// Appended, but not computed yet.
  std::vector<int32_t> waiting;
  bool hasLogits = false;

private:
  /// Computes all waiting tokens, or all but the last.
  dsflash::Status compute(bool more);
  dsflash::Status decode();

  bool schedulesDrafts;
  std::optional<dsflash::DraftingLoop> loop;
};

#endif // DSFLASH_LIB_RUNTIME_CAPISESSION_H
