//===- CApi.cpp - The runtime from C --------------------------------------===//

#include "CApiSession.h"

#include "dsflash/Runtime/SessionFile.h"

#include <algorithm>
#include <memory>
#include <new>

using namespace dsflash;

static thread_local std::string lastError;

dsf_status dsflash::fail(dsf_status code, const std::string &message) {
  lastError = message;
  return code;
}

dsf_status dsflash::fail(dsf_status code, const Status &status) {
  return fail(code, status.str());
}

namespace {

/// Calls `body`; nothing that it throws reaches the caller.
template <typename Function> dsf_status guarded(Function body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(DSF_ERROR_MEMORY, "runtime: out of memory");
  } catch (const std::exception &error) {
    return fail(DSF_ERROR_RUN, std::string("runtime: ") + error.what());
  }
}

dsf_status nullArgument(const char *function) {
  return fail(DSF_ERROR_ARGUMENT, std::string(function) + ": null pointer");
}

/// Copies what fits; `count` becomes the whole size.
template <typename T>
dsf_status copyOut(const char *function, const T *from, size_t size, T *to,
                   size_t capacity, size_t *count) {
  *count = size;
  std::copy_n(from, std::min(size, capacity), to);
  if (size <= capacity)
    return DSF_OK;
  return fail(DSF_ERROR_CAPACITY,
              std::string(function) + ": " + std::to_string(size) +
                  " needed, the buffer holds " + std::to_string(capacity));
}

} // namespace

struct dsf_model {
  std::shared_ptr<const Model> model;
};

const char *dsf_version(void) { return DSFLASH_VERSION; }

const char *dsf_last_error(void) { return lastError.c_str(); }

dsf_status dsf_model_open(const char *path, const char *weights,
                          dsf_model **model) {
  if (!path || !model)
    return nullArgument(__func__);
  return guarded([&] {
    Result<std::unique_ptr<Model>> opened = Model::open(path);
    if (!opened)
      return fail(DSF_ERROR_MODEL, opened.status());
    if (Status status = (*opened)->bindWeights(weights ? weights : ""); !status)
      return fail(DSF_ERROR_MODEL, status);
    *model = new dsf_model{std::move(*opened)};
    return DSF_OK;
  });
}

void dsf_model_close(dsf_model *model) { delete model; }

dsf_status dsf_model_get_info(const dsf_model *model, dsf_model_info *info) {
  if (!model || !info)
    return nullArgument(__func__);
  const Model &opened = *model->model;
  *info = {opened.module().vocab_size,
           opened.module().max_positions,
           opened.kvBytesPerToken(),
           opened.manifest().bosToken,
           opened.manifest().eosToken,
           opened.tokenizer() != nullptr,
           int32_t(opened.module().draft_block)};
  return DSF_OK;
}

static dsf_status noTokenizer(const Model &model) {
  return fail(DSF_ERROR_INPUT, model.path() + ": no tokenizer.json");
}

dsf_status dsf_tokenize(const dsf_model *model, const char *text, size_t length,
                        int parse_special, int32_t *ids, size_t capacity,
                        size_t *count) {
  if (!model || (!text && length) || (!ids && capacity) || !count)
    return nullArgument(__func__);
  return guarded([&] {
    const Tokenizer *tokenizer = model->model->tokenizer();
    if (!tokenizer)
      return noTokenizer(*model->model);
    Result<std::vector<int32_t>> encoded =
        tokenizer->encode({text, length}, parse_special != 0);
    if (!encoded)
      return fail(DSF_ERROR_INPUT, encoded.status());
    return copyOut("dsf_tokenize", encoded->data(), encoded->size(), ids,
                   capacity, count);
  });
}

dsf_status dsf_detokenize(const dsf_model *model, const int32_t *ids,
                          size_t count, char *text, size_t capacity,
                          size_t *length) {
  if (!model || (!ids && count) || (!text && capacity) || !length)
    return nullArgument(__func__);
  return guarded([&] {
    const Tokenizer *tokenizer = model->model->tokenizer();
    if (!tokenizer)
      return noTokenizer(*model->model);
    Status faults = checkTokens("dsf_detokenize", ids, int64_t(count), 0,
                                tokenizer->vocabSize());
    if (!faults)
      return fail(DSF_ERROR_INPUT, faults);
    std::string bytes;
    for (size_t i = 0; i < count; ++i)
      bytes += tokenizer->bytes(ids[i]);
    return copyOut("dsf_detokenize", bytes.data(), bytes.size(), text, capacity,
                   length);
  });
}

dsf_session_options dsf_default_session_options(void) {
  SamplingOptions sampling;
  return {1, sampling.temperature, sampling.topP, sampling.seed, /*draft=*/0};
}

/// Makes an empty session; `fill` gives it its sequence.
template <typename Fill>
static dsf_status createSession(const char *function, const dsf_model *model,
                                const dsf_session_options *options,
                                dsf_session **session, Fill fill) {
  if (!model || !session)
    return nullArgument(function);
  dsf_session_options chosen =
      options ? *options : dsf_default_session_options();
  if (chosen.threads < 0 || !(chosen.temperature >= 0) ||
      !(chosen.top_p >= 0 && chosen.top_p <= 1))
    return fail(DSF_ERROR_ARGUMENT,
                std::string(function) +
                    ": threads and temperature must not be negative, top_p "
                    "lies in [0, 1]");
  int64_t block = model->model->module().draft_block;
  if (chosen.draft < DSF_DRAFT_AUTO || chosen.draft > block)
    return fail(DSF_ERROR_ARGUMENT,
                std::string(function) + ": draft " +
                    std::to_string(chosen.draft) +
                    (block == 0 ? ", the model has no draft layers"
                                : ", the model drafts at most " +
                                      std::to_string(block) + " tokens"));
  return guarded([&] {
    Result<Session> empty = Session::create(model->model->module());
    if (!empty)
      return fail(DSF_ERROR_MEMORY, empty.status());
    auto created =
        std::make_unique<dsf_session>(model->model, chosen, std::move(*empty));
    Result<std::unique_ptr<ModelRunner>> runner =
        ModelRunner::create(*created->model, created->pool);
    if (!runner)
      return fail(DSF_ERROR_MODEL, runner.status());
    created->runner = std::move(*runner);
    if (dsf_status status = fill(*created); status != DSF_OK)
      return status;
    *session = created.release();
    return DSF_OK;
  });
}

dsf_status dsf_session_create(const dsf_model *model,
                              const dsf_session_options *options,
                              dsf_session **session) {
  return createSession(__func__, model, options, session,
                       [](dsf_session &) { return DSF_OK; });
}

dsf_status dsf_session_restore(const dsf_model *model,
                               const dsf_session_options *options,
                               const char *path, dsf_session **session) {
  if (!path)
    return nullArgument(__func__);
  return createSession(
      __func__, model, options, session, [&](dsf_session &created) {
        Result<Continuation> loaded = loadSession(path, *created.runner);
        if (!loaded)
          return fail(DSF_ERROR_INPUT, loaded.status());
        created.state.session = std::move(loaded->session);
        created.waiting = std::move(loaded->waiting);
        return DSF_OK;
      });
}

dsf_status dsf_session_fork(const dsf_session *from,
                            const dsf_session_options *options,
                            dsf_session **session) {
  if (!from)
    return nullArgument(__func__);
  dsf_model model{from->model};
  return createSession(__func__, &model, options, session,
                       [&](dsf_session &created) {
                         if (created.drafts > 0 && from->drafts == 0)
                           return fail(DSF_ERROR_ARGUMENT,
                                       "dsf_session_fork: the session does not "
                                       "draft, so its fork cannot");
                         Result<Session> copy = from->state.session.fork(0);
                         if (!copy)
                           return fail(DSF_ERROR_MEMORY, copy.status());
                         created.state.session = std::move(*copy);
                         created.waiting = from->waiting;
                         return DSF_OK;
                       });
}

dsf_status dsf_session_save(const dsf_session *session, const char *path) {
  if (!session || !path)
    return nullArgument(__func__);
  return guarded([&] {
    Status saved = saveSession(path, *session->model, session->state.session,
                               session->waiting);
    return saved ? DSF_OK : fail(DSF_ERROR_RUN, saved);
  });
}

void dsf_session_close(dsf_session *session) { delete session; }

dsf_status dsf_session_feed(dsf_session *session, const int32_t *ids,
                            size_t count, int more) {
  if (!session || (!ids && count))
    return nullArgument(__func__);
  return guarded([&] { return session->feed(ids, count, more != 0); });
}

int64_t dsf_session_length(const dsf_session *session) {
  return session ? session->length() : 0;
}

int64_t dsf_session_bytes(const dsf_session *session) {
  return session ? session->state.session.residentBytes() : 0;
}

const float *dsf_session_logits(const dsf_session *session) {
  return session && session->hasLogits ? session->runner->logits(0, 0)
                                       : nullptr;
}

/// Takes a token by the logits of the last position.
template <typename Choose>
static dsf_status chooseToken(const char *function, const dsf_session *session,
                              int32_t *token, Choose choose) {
  if (!session || !token)
    return nullArgument(function);
  const float *logits = dsf_session_logits(session);
  if (!logits)
    return fail(DSF_ERROR_ARGUMENT,
                std::string(function) + ": the last call made no logits");
  return guarded([&] {
    *token = choose(logits, session->model->module().vocab_size);
    return DSF_OK;
  });
}

dsf_status dsf_session_best(const dsf_session *session, int32_t *token) {
  return chooseToken(__func__, session, token, argmax);
}

dsf_status dsf_session_sample(dsf_session *session, int32_t *token) {
  return chooseToken(__func__, session, token,
                     [&](const float *logits, int64_t vocab) {
                       return session->state.sampler.sample(logits, vocab);
                     });
}

dsf_status dsf_session_generate(dsf_session *session, int32_t *ids,
                                size_t capacity, size_t *count) {
  if (!session || (!ids && capacity) || !count)
    return nullArgument(__func__);
  size_t most = size_t(session->drafts) + 1;
  if (capacity < most) {
    *count = most;
    return fail(DSF_ERROR_CAPACITY,
                "dsf_session_generate: " + std::to_string(most) +
                    " needed, the buffer holds " + std::to_string(capacity));
  }
  return guarded([&] {
    std::vector<int32_t> gained;
    dsf_status status = session->generate(gained);
    *count = gained.size();
    std::copy(gained.begin(), gained.end(), ids);
    return status;
  });
}

dsf_status dsf_session_truncate(dsf_session *session, int64_t length) {
  if (!session)
    return nullArgument(__func__);
  if (length < 0 || length > session->length())
    return fail(DSF_ERROR_ARGUMENT,
                "dsf_session_truncate: length " + std::to_string(length) +
                    " is outside [0, " + std::to_string(session->length()) +
                    "]");
  return guarded([&] {
    Status status = session->truncate(length);
    if (!status)
      session->clear();
    return status ? DSF_OK : fail(DSF_ERROR_RUN, status);
  });
}
