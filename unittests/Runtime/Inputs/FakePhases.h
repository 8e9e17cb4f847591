/*===- FakePhases.h - Prompts of the fake model in phases -----------------===*\
 *
 * The encoder takes rows into the history; the decoder notes which positions it
 * has seen, in which order, and for which outputs.
 *
\*===----------------------------------------------------------------------===*/

/* A tail has at most so many rows of a sequence, unless more are wanted. */
enum { FAKE_CHUNK = 4, FAKE_WINDOW = 8, FAKE_LAST_ROWS = 29 };
/* The decoder fails where this token is. */
enum { FAILING_TOKEN = 286 };

typedef struct seen_row {
  int32_t end;        /* positions that the decoder has seen */
  int32_t first_want; /* of the last tail, the first position with an output */
} seen_row;

static seen_row *seen_of(const dsf_call *call, int32_t sequence) {
  return (seen_row *)((char *)call->states[sequence] + SEEN_OFFSET);
}

static const dsf_tensor prompt_tensors[] = {
    {"tokens", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
    {"lookback", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, LOOK_BACK},
    {"stream", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 2},
    {"pre", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 1},
};

static int32_t prompt(const dsf_call *call) {
  const int32_t *position = call->tensors[POSITION];
  const int32_t *extents = call->tensors[EXTENTS];
  float *pre = call->tensors[6];
  for (int64_t i = 0; i < call->dims[DSF_DIM_ROWS]; ++i)
    pre[i] = (float)position[i];
  for (int32_t s = 0; s < call->dims[DSF_DIM_SEQUENCES]; ++s) {
    /* Positions may have been taken back. */
    seen_row *seen = seen_of(call, s);
    int32_t first = position[extents[2 * s]];
    if (extents[2 * s + 1] && first < seen->end)
      seen->end = first;
  }
  return read_rows(call, call->tensors[5]);
}

enum {
  TAIL_OUTPUTS = 4,
  TAIL_STREAM,
  TAIL_PRE,
  TAIL_WANTED,
  TAIL_LOGITS,
  TAIL_FEATURES
};

static const dsf_tensor tail_tensors[] = {
    {"tokens", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"sequence", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 2},
    {"outputs", DSF_I32, DSF_DIM_OUTPUTS, DSF_READ, 0, 1},
    {"stream", DSF_F32, DSF_DIM_ROWS, DSF_READ, 0, 2},
    {"pre", DSF_F32, DSF_DIM_ROWS, DSF_READ, 0, 1},
    {"wanted", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 0, 1},
    {"logits", DSF_F32, DSF_DIM_OUTPUTS, DSF_WRITE, 0, VOCAB},
    {"features", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 0, 2},
};

/* The rows of one sequence: what the encoder gave, behind those of the call
 * before, which had the same wanted ones. */
static int32_t see_rows(const dsf_call *call, int32_t s) {
  const int32_t *tokens = call->tensors[TOKENS];
  const int32_t *position = call->tensors[POSITION];
  const int32_t *extents = call->tensors[EXTENTS];
  const float *stream = call->tensors[TAIL_STREAM];
  const float *pre = call->tensors[TAIL_PRE];
  float *features = call->tensors[TAIL_FEATURES];
  const history_row *history = history_of(call, s);
  int32_t first = extents[2 * s], count = extents[2 * s + 1];
  int32_t end = position[first] + count;
  int32_t first_want = end - ((const int32_t *)call->tensors[TAIL_WANTED])[s];
  seen_row *seen = seen_of(call, s);
  if (count < 1 || position[first] < seen->end)
    return 61;
  if (position[first] == seen->end && seen->end < seen->first_want &&
      first_want != seen->first_want)
    return 62;
  for (int32_t i = first; i < first + count; ++i) {
    int32_t p = position[i];
    if (tokens[i] != history[p].token ||
        stream[2 * i + 1] != (float)tokens[i] ||
        stream[2 * i] != (float)(history[p].hash & 0xff) || pre[i] != (float)p)
      return 63;
    if (tokens[i] == FAILING_TOKEN)
      return 64;
    /* The others are not computed. */
    features[2 * i + 1] = -1;
    if (p > first_want - FAKE_WINDOW)
      write_features(history[p], p, features + 2 * i);
  }
  seen->end = end;
  seen->first_want = first_want;
  return 0;
}

static int32_t bounded_tail(const dsf_call *call) {
  const int32_t *extents = call->tensors[EXTENTS];
  const int32_t *wanted = call->tensors[TAIL_WANTED];
  int32_t *rows = call->workspace;
  int64_t outputs = 0;
  for (int32_t s = 0; s < call->dims[DSF_DIM_SEQUENCES]; ++s) {
    int32_t code = see_rows(call, s);
    if (code)
      return code;
    int32_t end = extents[2 * s] + extents[2 * s + 1];
    for (int32_t row = end - (wanted[s] > 0 ? wanted[s] : 0); row < end; ++row)
      rows[outputs++] = row;
  }
  if (outputs != call->dims[DSF_DIM_OUTPUTS])
    return 65;
  logits_task task = {call, call->tensors[TAIL_STREAM], rows,
                      call->tensors[TAIL_LOGITS]};
  call->env->parallel_for(call->env->user, write_logits, &task, outputs);
  return 0;
}

static int32_t tail(const dsf_call *call) {
  const int32_t *extents = call->tensors[EXTENTS];
  const int32_t *wanted = call->tensors[TAIL_WANTED];
  for (int32_t s = 0; s < call->dims[DSF_DIM_SEQUENCES]; ++s)
    if (extents[2 * s + 1] > FAKE_CHUNK && extents[2 * s + 1] > wanted[s])
      return 66;
  return bounded_tail(call);
}
