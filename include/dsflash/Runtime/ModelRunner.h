//===- ModelRunner.h - Batches of rows through a model ----------*- C++ -*-===//
//
// Turns "these sequences, these new tokens" into the row tables of an entry
// and keeps the results of the last call.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_MODELRUNNER_H
#define DSFLASH_RUNTIME_MODELRUNNER_H

#include "dsflash/Runtime/EngramStore.h"
#include "dsflash/Runtime/Executor.h"
#include "dsflash/Runtime/Session.h"
#include "dsflash/Tokens/TokenFile.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dsflash {

/// Prompt positions of a sequence in one call, unless a caller says otherwise.
constexpr int64_t kPromptChunk = 512;

/// New tokens of one sequence.
struct SequenceInput {
  Session *session = nullptr;
  const int32_t *tokens = nullptr;
  int64_t count = 0;
  /// So many of the last rows get logits.
  int64_t outputs = 0;
};

/// How a prompt is read: every layer for every token; the decoder only for the
/// positions that count, with equal results; or for the last window alone.
enum class Prefill { Full, Exact, Bounded };
/// "full", "exact" or "bounded".
const char *prefillName(Prefill prefill);

/// Which (sequence, position) each row of a call is.
struct RowTable {
  std::vector<int32_t> sequence; ///< index into `sessions`
  std::vector<int32_t> position;
  std::vector<int32_t> extents; ///< first row, row count of each sequence
  std::vector<Session *> sessions;

  int64_t rows() const { return int64_t(position.size()); }
  void clear();
  /// Adds `count` rows of a sequence, from that position on.
  void add(Session &session, int64_t firstPosition, int64_t count);
};

/// Sees the values that pass the observation points of forward calls, and may
/// replace them.
class ProbeObserver {
public:
  virtual ~ProbeObserver() = default;
  virtual void observe(int32_t probe, int64_t layer, void *data, int64_t rows,
                       const RowTable &table) = 0;
  /// What went wrong so far; forward reports it.
  virtual Status status() const { return Status(); }
};

class ModelRunner {
public:
  /// A runner for a model whose weights are bound; see Executor::create.
  static Result<std::unique_ptr<ModelRunner>>
  create(const Model &model, ThreadPool &pool,
         std::unique_ptr<Device> device = nullptr);

  const Model &model() const { return compiled; }
  const Executor &executor() const { return *exec; }
  void setObserver(ProbeObserver *observer) { probes = observer; }
  /// Records entries from now on, and what callers add; may be null.
  void setTimeline(Timeline *timeline) {
    recorder = timeline;
    exec->setTimeline(timeline);
  }
  Timeline *timeline() const { return recorder; }
  /// Exact tails have as many rows of a sequence in a call as its prompt's
  /// chunks, this many at most, unless more have outputs.
  void setChunk(int64_t rows) { chunk = rows; }

  /// Computes the new tokens of all sequences in one call and appends them to
  /// the sessions. Errors: an id outside the vocabulary, a sequence beyond
  /// max_positions or one whose tail is due (nothing was run then), an Engram
  /// row that cannot be read, a failure of compiled code.
  Status forward(const std::vector<SequenceInput> &inputs);
  /// Rows of the last call that computed positions.
  int64_t rowCount() const { return rows.rows(); }
  /// Whether prompts can be read in phases.
  bool hasPhases() const { return exec->hasEntry(Entry::Prompt); }
  /// The same in phases: runs the encoder over the new tokens of all sequences
  /// in one call and appends them, then the decoder for the inputs that have
  /// outputs, prompts that end and decode steps alike, in one call if no prompt
  /// needs more rows than a chunk. Of the others, what the decoder will need
  /// waits in the sessions. Errors as forward, but for a tail that is due; the
  /// rows of a call of the decoder that failed, and later ones, stay due.
  Status prompt(const std::vector<SequenceInput> &inputs, Prefill prefill);
  /// Logits [vocab] of an output row of input `input` of the last call of
  /// either.
  const float *logits(size_t input, int64_t output) const;
  /// Last rows of an input that the draft layers can see behind that call: all,
  /// in phases those that the decoder has seen, of a prompt the last window.
  int64_t featureRows(size_t input) const { return results[input].features; }

  /// Bounded replay: computes the rings and pending groups behind the last
  /// position anew, from the last window of tokens alone, its first row seeing
  /// nothing before it in the window; global KV and index keys are read and
  /// stay as they are (SPEC section 3, SWA bounded replay). Draft rings too.
  Status replay(Session &session);

  /// Hands rows of the last forward, prompt or replay to the draft layers:
  /// those of the last accepted[i] positions of its i-th input.
  Status draftContext(const std::vector<int64_t> &accepted);

  /// Starts a draft block in each session, behind its last position, from the
  /// token that comes next. The draft layers must have seen all its positions.
  Status draft(const std::vector<Session *> &sessions,
               const std::vector<int32_t> &tokens);
  /// Finishes the logits of row `step` of each block, for the token before it;
  /// steps are 0 to draft_block - 1, in order.
  Status markov(int64_t step, const std::vector<int32_t> &previous);
  /// Logits [vocab] of row `step` of the i-th block of the last draft.
  const float *draftLogits(size_t block, int64_t step) const;
  /// Probability that the draft of that row is accepted, as the model sees it.
  float confidence(size_t block, int64_t step) const;

private:
  ModelRunner(const Model &model, std::unique_ptr<Executor> exec)
      : compiled(model), exec(std::move(exec)) {}
  Status checkInputs(const std::vector<SequenceInput> &inputs) const;
  void clearRows();
  void startRows(const std::vector<SequenceInput> &inputs);
  /// Inputs that one entry of a tail serves, by number.
  using TailInputs = std::vector<size_t>;
  Entry tailOf(const SequenceInput &input, Prefill prefill) const;
  /// Runs the decoder over what waits in the sessions of inputs with outputs.
  Status tail(const std::vector<SequenceInput> &inputs, Prefill prefill);
  /// Makes room for the results of these inputs, in this order.
  void placeResults(const std::vector<SequenceInput> &inputs,
                    std::initializer_list<const TailInputs *> batches);
  /// One call, so many before the last one: it has the rows of each input that
  /// the calls behind it leave, and the last one its outputs.
  Status runTail(Entry entry, const std::vector<SequenceInput> &inputs,
                 const TailInputs &batch, int64_t callsBehind);
  /// Starts the rows of that call; gives the inputs that have some.
  TailInputs startTail(const std::vector<SequenceInput> &inputs,
                       const TailInputs &batch, int64_t callsBehind);
  /// What waits for the rows of a call, [rows, ...]: in place, or `gathered`.
  float *waitingRows(Entry entry, Tensor tensor,
                     std::vector<float> Session::Boundary::*waiting,
                     std::vector<float> &gathered);
  /// Behind a call: its rows wait no more; keeps the features that count.
  void finishTail(const TailInputs &called);
  /// Rows of an input in one call of its exact tail, at most: all outputs are
  /// of the last one.
  int64_t tailRows(const SequenceInput &input) const {
    return std::max(chunk, input.outputs);
  }
  void addLookback(const Session &session, int64_t firstPosition);
  /// Makes room for the results of so many rows and outputs.
  void resizeResults(int64_t rowCount, int64_t outputCount);
  /// The buffers of a call that computes `rows` and `outputRows`, its logits
  /// behind those of so many outputs.
  TensorBuffers outputBuffers(int64_t firstOutput,
                              std::vector<float> &rowFeatures);
  Status run(Entry entry, RowTable &table, int64_t outputs,
             TensorBuffers buffers, ProbeObserver *observer = nullptr);
  int64_t vocab() const { return compiled.module().vocab_size; }
  int64_t block() const { return compiled.module().draft_block; }

  const Model &compiled;
  std::unique_ptr<Executor> exec;
  /// Null without Engram.
  std::unique_ptr<EngramStore> engram;
  ProbeObserver *probes = nullptr;
  Timeline *recorder = nullptr;
  int64_t chunk = kPromptChunk;

  /// Of an input of the last call: where its results end, which are those of
  /// the positions before `length`.
  struct InputResults {
    int64_t length = 0;
    int64_t endRow = 0;
    int64_t firstOutput = 0;
    int64_t features = 0; ///< rows that have them
    Session *session = nullptr;
  };
  std::vector<InputResults> results;

  RowTable rows;
  std::vector<int32_t> tokenIds, lookback, outputRows, wanted;
  std::vector<float> outputLogits, features, stream, pre;
  /// Of the rows of one call of a tail.
  std::vector<float> tailFeatures;

  RowTable contextRows;
  std::vector<float> contextFeatures;

  RowTable draftRows;
  std::vector<int32_t> draftOutputs;
  std::vector<float> blockLogits, hidden, confidences;

  std::vector<void *> states;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_MODELRUNNER_H
