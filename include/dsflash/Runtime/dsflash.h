/*===- dsflash.h - The runtime from C
--------------------------------------===*\
 *
 * Opens a compiled model, computes token sequences and reads their logits.
 * Every function that can fail returns a dsf_status; dsf_last_error() says
 * why. Nothing throws, nothing links LLVM.
 *
 * Threads: a model may be used by any number of threads, a session by one at a
 * time. Sessions share nothing but the weights, so those of one model may run
 * at once.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_RUNTIME_DSFLASH_H
#define DSFLASH_RUNTIME_DSFLASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dsf_model dsf_model;
typedef struct dsf_session dsf_session;

typedef enum dsf_status {
  DSF_OK = 0,
  DSF_ERROR_ARGUMENT = 1, /* a null pointer or a value out of range */
  DSF_ERROR_MODEL = 2,    /* the model or its weights cannot be used */
  DSF_ERROR_INPUT = 3,    /* token ids or text that the model does not take */
  DSF_ERROR_RUN = 4,      /* compiled code failed, or logits without a token */
  DSF_ERROR_CAPACITY = 5, /* the caller's buffer is too small */
  DSF_ERROR_MEMORY = 6    /* out of memory */
} dsf_status;

/* Version of the runtime, "major.minor.patch". */
const char *dsf_version(void);

/* Why the last failed call of this thread failed: lines "where: why". Valid
 * until the next failure in this thread; "" if there was none. */
const char *dsf_last_error(void);

/*===- Models -------------------------------------------------------------===*/

/* Opens a folder *.dsflash and maps its weights: from `weights`, a checkpoint
 * folder, or if that is null from where the model was compiled. */
dsf_status dsf_model_open(const char *path, const char *weights,
                          dsf_model **model);

/* Sessions of the model may outlive this. Null is allowed. */
void dsf_model_close(dsf_model *model);

typedef struct dsf_model_info {
  int64_t vocab_size;
  int64_t max_positions;
  double kv_bytes_per_token;
  int32_t bos_token; /* -1: none, as below */
  int32_t eos_token;
  int32_t has_tokenizer;
  int32_t draft_block; /* most tokens that it drafts; 0: it has no drafts */
} dsf_model_info;

dsf_status dsf_model_get_info(const dsf_model *model, dsf_model_info *info);

/* The token ids of `length` bytes of UTF-8, without BOS. With `parse_special`
 * the texts of special tokens become these tokens. `*count` becomes the number
 * of ids; at most `capacity` are written, and if there are more the result is
 * DSF_ERROR_CAPACITY. DSF_ERROR_INPUT: ill-formed UTF-8, or no tokenizer. */
dsf_status dsf_tokenize(const dsf_model *model, const char *text, size_t length,
                        int parse_special, int32_t *ids, size_t capacity,
                        size_t *count);

/* The bytes of `count` tokens one behind the other, without a final zero; the
 * last ones may be a part of a character. `length` and `capacity` as above. */
dsf_status dsf_detokenize(const dsf_model *model, const int32_t *ids,
                          size_t count, char *text, size_t capacity,
                          size_t *length);

/*===- Sessions -----------------------------------------------------------===*/

typedef struct dsf_session_options {
  /* Threads that this session computes with, never more than cores; 0: one a
   * core. Sessions that run at once do best with one each. */
  int32_t threads;
  /* Of dsf_session_sample: 0 always takes the best token. */
  double temperature;
  /* Smallest set of the best tokens that reaches this probability. */
  double top_p;
  /* The same seed draws the same tokens. */
  uint64_t seed;
  /* Of dsf_session_generate: tokens that the model's draft layers propose in a
   * step, at most dsf_model_info.draft_block; 0: none; DSF_DRAFT_AUTO: as many
   * as pay on this machine, by what steps cost when they are measured before
   * the first one. Drafts change no token of a greedy text. */
  int32_t draft;
} dsf_session_options;

enum { DSF_DRAFT_AUTO = -1 };

/* One thread, temperature 1, top-p 0.95, seed 0, no drafts. */
dsf_session_options dsf_default_session_options(void);

/* An empty sequence. `options` may be null: the default. */
dsf_status dsf_session_create(const dsf_model *model,
                              const dsf_session_options *options,
                              dsf_session **session);

/* Null is allowed. */
void dsf_session_close(dsf_session *session);

/* Appends tokens. With `more`, others will follow: the last token waits and the
 * decoder tail of the others too, whose boundary stream stays in the session;
 * no logits are made. Without, all is computed and the logits are those of the
 * last position; `count` may be 0 if a token waits. How a sequence is split
 * into calls changes no bit of its logits.
 *
 * DSF_ERROR_INPUT: an id outside the vocabulary or more than max_positions;
 * nothing was appended. DSF_ERROR_RUN: the session is now empty. */
dsf_status dsf_session_feed(dsf_session *session, const int32_t *ids,
                            size_t count, int more);

/* Tokens of the sequence, waiting ones included; 0 for null. */
int64_t dsf_session_length(const dsf_session *session);

/* Bytes of memory that the sequence takes: its state, in whole pages, and the
 * boundary stream that waits for the decoder tail; 0 for null. */
int64_t dsf_session_bytes(const dsf_session *session);

/* Logits [vocab_size] of the last position, until the session's next call;
 * null if none were made. */
const float *dsf_session_logits(const dsf_session *session);

/* The best token (of equal ones the lowest id), or a drawn one, by the logits
 * of the last position. The token is not appended. DSF_ERROR_ARGUMENT: there
 * are no logits. */
dsf_status dsf_session_best(const dsf_session *session, int32_t *token);
dsf_status dsf_session_sample(dsf_session *session, int32_t *token);

/* One step of a text: draws the next token as dsf_session_sample does and
 * appends it; where the session drafts, also what its drafts add. `*count`
 * becomes the number of tokens, 1 to draft + 1, and `ids` holds them. The last
 * one waits, as behind dsf_session_feed with `more`; there are no logits until
 * feed(session, NULL, 0, 0). Nothing comes behind the model's end token.
 *
 * DSF_ERROR_ARGUMENT: tokens that were fed with `more` are not computed yet, or
 * there are none. DSF_ERROR_CAPACITY: `ids` has no room for draft + 1 tokens,
 * which `*count` becomes. DSF_ERROR_INPUT: the sequence is at max_positions. In
 * these cases the session is as before. DSF_ERROR_RUN: it is now empty. */
dsf_status dsf_session_generate(dsf_session *session, int32_t *ids,
                                size_t capacity, size_t *count);

/* Takes back all tokens from position `length` on. The last token that is left
 * waits, so that dsf_session_feed(session, NULL, 0, 0) makes its logits.
 *
 * Windows of what is left are replayed from its last tokens, as they are when
 * a saved session is restored: exact up to a window of positions, beyond that
 * the small approximation that the model was trained for. DSF_ERROR_RUN: the
 * session is now empty. */
dsf_status dsf_session_truncate(dsf_session *session, int64_t length);

/* A second session with the same tokens, which goes its own way from here;
 * the first is not changed and must not be in use meanwhile. Nothing is
 * computed. It has no logits yet. `options` as of dsf_session_create, but that
 * it can draft only where the first does (DSF_ERROR_ARGUMENT): the draft layers
 * of others have not seen the tokens. */
dsf_status dsf_session_fork(const dsf_session *session,
                            const dsf_session_options *options,
                            dsf_session **fork);

/* Writes the tokens with their global KV and index keys. The file appears
 * whole or not at all; one that was there stays until then. DSF_ERROR_RUN: it
 * could not be written. */
dsf_status dsf_session_save(const dsf_session *session, const char *path);

/* A session with the tokens of a saved one; a token that waited still waits.
 * DSF_ERROR_INPUT: no session file, a newer or damaged one, one of another
 * model or of other numerics. `options` as of dsf_session_create. */
dsf_status dsf_session_restore(const dsf_model *model,
                               const dsf_session_options *options,
                               const char *path, dsf_session **session);

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_RUNTIME_DSFLASH_H */
