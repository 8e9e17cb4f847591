/*===- FakeModel.c - A compiled model that needs no compiler --------------===*\
 *
 * Implements the module ABI with arithmetic that a test can follow: the state
 * row of a position is a hash of all tokens up to it, and the next token is
 * mostly the successor of the last one. Every entry checks what the runtime
 * hands to it and fails with a code of its own if that is wrong.
 *
\*===----------------------------------------------------------------------===*/

#include "dsflash/ABI/ModuleABI.h"

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION DSF_ABI_VERSION
#endif
#ifndef FAKE_FEATURES
#define FAKE_FEATURES ""
#endif
#ifndef FAKE_DRAFT_BLOCK
#define FAKE_DRAFT_BLOCK 5
#endif
#ifndef FAKE_PROBES
#define FAKE_PROBES 5
#endif
#ifndef FAKE_NUMERICS
#define FAKE_NUMERICS "ideal"
#endif
#ifndef FAKE_FIRST_TENSOR
#define FAKE_FIRST_TENSOR "tokens"
#endif

enum {
  VOCAB = 288,
  MAX_POSITIONS = 1024,
  LOOK_BACK = 2,
  RING_ROWS = 8,
  PAIRS_OFFSET = MAX_POSITIONS * 16,
  RING_OFFSET = PAIRS_OFFSET + MAX_POSITIONS / 2 * 8,
  SEEN_OFFSET = RING_OFFSET + RING_ROWS * 16,
  STATE_BYTES = SEEN_OFFSET + 16
};

typedef struct history_row {
  uint64_t hash;
  int32_t token;
  int32_t unused;
} history_row;

typedef struct ring_row {
  float value;
  int32_t position;
  int32_t unused[2];
} ring_row;

static history_row *history_of(const dsf_call *call, int32_t sequence) {
  return (history_row *)call->states[sequence];
}

static ring_row *ring_of(const dsf_call *call, int32_t sequence) {
  return (ring_row *)((char *)call->states[sequence] + RING_OFFSET);
}

static float noise(uint64_t hash, int64_t i) {
  uint64_t x = (hash ^ (uint64_t)(i + 1)) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return (float)(x >> 40) * (1.0f / 16777216.0f);
}

/*===- forward
 * -------------------------------------------------------------===*/

enum {
  TOKENS,
  SEQUENCE,
  POSITION,
  EXTENTS,
  LOOKBACK,
  OUTPUTS,
  LOGITS,
  FEATURES
};

static const dsf_tensor forward_tensors[] = {
    {FAKE_FIRST_TENSOR, DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
    {"lookback", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, LOOK_BACK},
    {"outputs", DSF_I32, DSF_DIM_OUTPUTS, DSF_READ, 0, 1},
    {"logits", DSF_F32, DSF_DIM_OUTPUTS, DSF_WRITE, 0, VOCAB},
    {"features", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 2},
};

/* Observed rows: {hash byte, token} of a row, kept in the workspace. */
static void pass_probes(const dsf_call *call, float *streams) {
  const int32_t *sequence = call->tensors[SEQUENCE];
  const int32_t *position = call->tensors[POSITION];
  const int32_t *tokens = call->tensors[TOKENS];
  int64_t rows = call->dims[DSF_DIM_ROWS];
  char *scratch = (char *)(streams + 2 * rows);
  for (int64_t layer = 0; layer <= 2; layer += 2) {
    int32_t *selected = (int32_t *)scratch;
    int64_t *engram = (int64_t *)scratch;
    float *values = (float *)scratch;
    call->env->probe(call->env->user, 0, layer, streams, rows);
    for (int64_t i = 0; i < rows; ++i) {
      selected[3 * i] = position[i];
      selected[3 * i + 1] = (int32_t)layer;
      selected[3 * i + 2] = -1;
    }
    call->env->probe(call->env->user, 1, layer, selected, rows);
    for (int64_t i = 0; i < rows; ++i)
      values[i] = (float)(position[i] * 10);
    call->env->probe(call->env->user, 2, layer, values, rows);
    for (int64_t i = 0; i < rows; ++i) {
      engram[2 * i] = tokens[i];
      engram[2 * i + 1] = layer == 2 ? (int64_t)1 << 40 : sequence[i];
    }
    call->env->probe(call->env->user, 3, layer, engram, rows);
  }
  for (int64_t i = 0; i < rows; ++i)
    ((float *)scratch)[i] = 0.5f;
  call->env->probe(call->env->user, 4, 0, scratch, rows);
}

typedef struct logits_task {
  const dsf_call *call;
  const float *streams;
  const int32_t *rows; /* of the outputs */
  float *logits;
} logits_task;

static void write_logits(void *context, int64_t begin, int64_t end) {
  const logits_task *task = context;
  const dsf_call *call = task->call;
  const float *bias = call->weights[0];
  for (int64_t output = begin; output < end; ++output) {
    int32_t row = task->rows[output];
    int32_t sequence = ((const int32_t *)call->tensors[SEQUENCE])[row];
    int32_t position = ((const int32_t *)call->tensors[POSITION])[row];
    uint64_t hash = history_of(call, sequence)[position].hash;
    int64_t step = (hash >> 33) % 4 == 0 ? 2 : 1;
    int64_t target = ((int64_t)task->streams[2 * row + 1] + step) % VOCAB;
    float *logits = task->logits + output * VOCAB;
    for (int64_t i = 0; i < VOCAB; ++i)
      logits[i] = bias[i] + noise(hash, i) + (i == target ? 8.0f : 0.0f);
  }
}

/* Takes the rows into the history; streams [rows, 2] are {hash byte, token}. */
static int32_t read_rows(const dsf_call *call, float *streams) {
  const int32_t *tokens = call->tensors[TOKENS];
  const int32_t *sequence = call->tensors[SEQUENCE];
  const int32_t *position = call->tensors[POSITION];
  const int32_t *extents = call->tensors[EXTENTS];
  const int32_t *lookback = call->tensors[LOOKBACK];
  int32_t next = 0;
  for (int64_t s = 0; s < call->dims[DSF_DIM_SEQUENCES]; ++s) {
    history_row *history = history_of(call, (int32_t)s);
    if (extents[2 * s] != next)
      return 11;
    for (int32_t i = 0; i < extents[2 * s + 1]; ++i, ++next) {
      int32_t p = position[next];
      if (sequence[next] != s || (i > 0 && p != position[next - 1] + 1))
        return 12;
      for (int32_t back = 1; i == 0 && back <= LOOK_BACK; ++back)
        if (lookback[s * LOOK_BACK + back - 1] !=
            (p < back ? -1 : history[p - back].token))
          return 13;
      uint64_t before = p == 0 ? 17 : history[p - 1].hash;
      history[p].token = tokens[next];
      history[p].hash =
          (before + (uint64_t)tokens[next] + 1) * 6364136223846793005u;
      if (p % 2)
        *(uint64_t *)((char *)history + PAIRS_OFFSET + p / 2 * 8) = before;
      streams[2 * next] = (float)(history[p].hash & 0xff);
      streams[2 * next + 1] = (float)tokens[next];
    }
  }
  return next == call->dims[DSF_DIM_ROWS] ? 0 : 14;
}

static void write_features(history_row row, int32_t position, float *features) {
  features[0] = (float)(row.hash & 0xffff);
  features[1] = (float)position;
}

static int32_t forward(const dsf_call *call) {
  const int32_t *sequence = call->tensors[SEQUENCE];
  const int32_t *position = call->tensors[POSITION];
  float *features = call->tensors[FEATURES];
  float *streams = call->workspace;
  if ((uintptr_t)call->workspace % 64)
    return 10;
  int32_t code = read_rows(call, streams);
  if (code)
    return code;
  for (int64_t i = 0; i < call->dims[DSF_DIM_ROWS]; ++i)
    write_features(history_of(call, sequence[i])[position[i]], position[i],
                   features + 2 * i);
  if (call->env->probe)
    pass_probes(call, streams);
  logits_task task = {call, streams, call->tensors[OUTPUTS],
                      call->tensors[LOGITS]};
  call->env->parallel_for(call->env->user, write_logits, &task,
                          call->dims[DSF_DIM_OUTPUTS]);
  return 0;
}

#define COUNT(array) (int64_t)(sizeof(array) / sizeof(*array))

#ifdef FAKE_PHASES
#include "FakePhases.h"
#endif

/*===- replay
 * -------------------------------------------------------------===*/

static const dsf_tensor replay_tensors[] = {
    {"tokens", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
    {"lookback", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, LOOK_BACK},
    {"features", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 2},
};

/* The history is there and stays; what it says must be what is replayed. */
static int32_t replay(const dsf_call *call) {
  const int32_t *tokens = call->tensors[0];
  const int32_t *sequence = call->tensors[1];
  const int32_t *position = call->tensors[2];
  const int32_t *lookback = call->tensors[4];
  float *features = call->tensors[5];
  for (int64_t i = 0; i < call->dims[DSF_DIM_ROWS]; ++i) {
    history_row *row = history_of(call, sequence[i]) + position[i];
    if (row->token != tokens[i] || row->hash == 0)
      return 51;
    if (i == 0 && position[0] > 0 && lookback[0] != row[-1].token)
      return 52;
    write_features(*row, position[i], features + 2 * i);
  }
  return 0;
}

/*===- Drafts
 * --------------------------------------------------------------===*/

static const dsf_tensor context_tensors[] = {
    {"features", DSF_F32, DSF_DIM_ROWS, DSF_READ, 0, 2},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
};

/* Only features of positions that the sequence kept may arrive here. */
static int32_t draft_context(const dsf_call *call) {
  const float *features = call->tensors[0];
  const int32_t *sequence = call->tensors[1];
  const int32_t *position = call->tensors[2];
  for (int64_t i = 0; i < call->dims[DSF_DIM_ROWS]; ++i) {
    history_row row = history_of(call, sequence[i])[position[i]];
    if (features[2 * i + 1] != (float)position[i] ||
        features[2 * i] != (float)(row.hash & 0xffff))
      return 21;
    ring_row *ring = &ring_of(call, sequence[i])[position[i] % RING_ROWS];
    ring->value = features[2 * i];
    ring->position = position[i];
  }
  return 0;
}

static const dsf_tensor draft_tensors[] = {
    {"tokens", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 1},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
    {"logits", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, VOCAB},
    {"hidden", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 2},
};

/* The ring must hold the last positions in front of the block, as they are. */
static int32_t draft(const dsf_call *call) {
  const int32_t *tokens = call->tensors[0];
  const int32_t *sequence = call->tensors[1];
  const int32_t *position = call->tensors[2];
  const int32_t *extents = call->tensors[3];
  float *logits = call->tensors[4], *hidden = call->tensors[5];
  for (int64_t s = 0; s < call->dims[DSF_DIM_SEQUENCES]; ++s) {
    int32_t row = extents[2 * s], first = position[row];
    if (extents[2 * s + 1] != FAKE_DRAFT_BLOCK || sequence[row] != s)
      return 31;
    for (int32_t p = first - 1; p >= 0 && p > first - 5; --p) {
      ring_row ring = ring_of(call, (int32_t)s)[p % RING_ROWS];
      history_row *history = history_of(call, (int32_t)s);
      if (ring.position != p || ring.value != (float)(history[p].hash & 0xffff))
        return 32;
    }
    for (int32_t i = 0; i < FAKE_DRAFT_BLOCK; ++i, ++row) {
      for (int64_t v = 0; v < VOCAB; ++v)
        logits[row * VOCAB + v] = noise((uint64_t)(first + i), v);
      hidden[2 * row] = (float)tokens[s];
      hidden[2 * row + 1] = (float)i;
    }
  }
  return 0;
}

static const dsf_tensor markov_tensors[] = {
    {"previous", DSF_I32, DSF_DIM_OUTPUTS, DSF_READ, 0, 1},
    {"outputs", DSF_I32, DSF_DIM_OUTPUTS, DSF_READ, 0, 1},
    {"logits", DSF_F32, DSF_DIM_ROWS, DSF_READ_WRITE, 0, VOCAB},
    {"hidden", DSF_F32, DSF_DIM_ROWS, DSF_READ, 0, 2},
    {"confidence", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 1},
};

static int32_t markov(const dsf_call *call) {
  const int32_t *previous = call->tensors[0], *outputs = call->tensors[1];
  float *logits = call->tensors[2], *confidence = call->tensors[4];
  const float *hidden = call->tensors[3];
  for (int64_t i = 0; i < call->dims[DSF_DIM_OUTPUTS]; ++i) {
    int32_t row = outputs[i];
    if (hidden[2 * row + 1] == 0 && hidden[2 * row] != (float)previous[i])
      return 41;
    logits[row * VOCAB + (previous[i] + 1) % VOCAB] += 8.0f;
    confidence[row] = 1.0f / (1.0f + hidden[2 * row + 1]) *
                      (previous[i] % 2 ? 0.5f : 1.0f);
  }
  return 0;
}

/*===- Tables
 * --------------------------------------------------------------===*/

static const dsf_entry entries[] = {
    {"forward", forward, forward_tensors, COUNT(forward_tensors), 32, 64, 0},
    {"replay", replay, replay_tensors, COUNT(replay_tensors), 0, 0, 0},
#ifdef FAKE_PHASES
    {"prompt", prompt, prompt_tensors, COUNT(prompt_tensors), 0, 0, 0},
    {"tail", tail, tail_tensors, COUNT(tail_tensors), 4, 64, FAKE_LAST_ROWS},
    {"bounded_tail", bounded_tail, tail_tensors, COUNT(tail_tensors), 4, 64,
     FAKE_WINDOW},
#endif
    {"draft_context", draft_context, context_tensors, COUNT(context_tensors), 0,
     0, 0},
    {"draft", draft, draft_tensors, COUNT(draft_tensors), 0, 0, 0},
    {"markov", markov, markov_tensors, COUNT(markov_tensors), 0, 0, 0},
};

static const int32_t two_layers[] = {0, 2};

static const dsf_weight weights[] = {
    {"bias", 0, DSF_F32, DSF_NONE, 1, VOCAB, 0, 0, 0, 0, 0, 1, 1, 0,
     DSF_FROM_CHECKPOINT},
    {"layers.{l}.w.weight", "layers.{l}.w.scale", DSF_E4M3, DSF_E8M0, 40, 64,
     32, 32, two_layers, 2, 3, 1, 2, 1, DSF_FROM_CHECKPOINT},
    {"layers.{l}.experts.{e}.weight", "layers.{l}.experts.{e}.scale", DSF_E2M1,
     DSF_E8M0, 8, 64, 1, 32, two_layers, 2, 3, 2, 2, 7, DSF_FROM_CHECKPOINT},
    {"norm.weight", 0, DSF_BF16, DSF_NONE, 4, 16, 0, 0, 0, 0, 0, 1, 1, 19,
     DSF_FROM_CHECKPOINT},
    {"token_map", 0, DSF_I32, DSF_NONE, 1, VOCAB, 0, 0, 0, 0, 0, 1, 1, 20,
     DSF_FROM_TOKENIZER},
};

static const dsf_state states[] = {
    {"history", 0, 16, MAX_POSITIONS, 1},
    {"pairs", PAIRS_OFFSET, 8, MAX_POSITIONS / 2, 2},
    {"draft_ring", RING_OFFSET, 16, RING_ROWS, 0},
};

static const dsf_probe probes[] = {
    {"layers.{l}.attn.stream", DSF_F32, 1, {2, 0}, 1},
    {"layers.{l}.attn.selected", DSF_I32, 1, {3, 0}, 1},
    {"layers.{l}.attn.kv_global", DSF_F32, 1, {1, 0}, 2},
    {"layers.{l}.engram.rows", DSF_I64, 1, {2, 0}, 1},
    {"head.pre", DSF_F32, 0, {0, 0}, 1},
};

static const dsf_module module = {
    .magic = DSF_ABI_MAGIC,
    .abi_version = FAKE_ABI_VERSION,
    .compiler = "fake 1",
    .target = "any",
    .cpu_features = FAKE_FEATURES,
    .numerics = FAKE_NUMERICS,
    .entries = entries,
    .entry_count = FAKE_DRAFT_BLOCK ? COUNT(entries) : 2,
    .weights = weights,
#ifdef FAKE_TOKEN_MAP
    .weight_count = COUNT(weights),
#else
    .weight_count = COUNT(weights) - 1,
#endif
    .weight_slots = 21,
    .states = states,
    .state_count = COUNT(states),
    .state_bytes = STATE_BYTES,
    .probes = probes,
    .probe_count = FAKE_PROBES,
    .vocab_size = VOCAB,
    .max_positions = MAX_POSITIONS,
    .draft_block = FAKE_DRAFT_BLOCK,
    .look_back = LOOK_BACK,
    .sliding_window = 8,
};

const dsf_module *dsf_module_query(void) { return &module; }
