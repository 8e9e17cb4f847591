/*===- generate.c - Continues a text, from C ------------------------------===*\
 *
 *     generate MODEL.dsflash PROMPT [TOKENS]
 *
 * Writes the prompt's greedy continuation as it comes, at most TOKENS tokens.
 *
\*===----------------------------------------------------------------------===*/

#include "dsflash/Runtime/dsflash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROMPT = 4096, MAX_TOKEN_BYTES = 1024 };

/* Feeds BOS, if the model has one, and the prompt. */
static dsf_status feed_prompt(const dsf_model *model, dsf_session *session,
                              int32_t bos, const char *prompt) {
  int32_t ids[MAX_PROMPT];
  size_t count;
  dsf_status status =
      dsf_tokenize(model, prompt, strlen(prompt), 1, ids, MAX_PROMPT, &count);
  if (status == DSF_OK && bos >= 0)
    status = dsf_session_feed(session, &bos, 1, 1);
  if (status == DSF_OK)
    status = dsf_session_feed(session, ids, count, 0);
  return status;
}

static dsf_status write_token(const dsf_model *model, int32_t token) {
  char text[MAX_TOKEN_BYTES];
  size_t length;
  dsf_status status =
      dsf_detokenize(model, &token, 1, text, sizeof text, &length);
  if (status == DSF_OK)
    fwrite(text, 1, length, stdout);
  return status;
}

static dsf_status generate(const dsf_model *model, dsf_session *session,
                           const char *prompt, long tokens) {
  dsf_model_info info;
  dsf_status status = dsf_model_get_info(model, &info);
  if (status == DSF_OK)
    status = feed_prompt(model, session, info.bos_token, prompt);
  for (long i = 0; i < tokens && status == DSF_OK; ++i) {
    int32_t token;
    status = dsf_session_best(session, &token);
    if (status != DSF_OK || token == info.eos_token)
      break;
    status = write_token(model, token);
    if (status == DSF_OK && i + 1 < tokens)
      status = dsf_session_feed(session, &token, 1, 0);
  }
  printf("\n");
  return status;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: generate MODEL.dsflash PROMPT [TOKENS]\n");
    return 2;
  }
  long tokens = argc > 3 ? strtol(argv[3], NULL, 10) : 64;
  dsf_model *model = NULL;
  dsf_session *session = NULL;
  dsf_status status = dsf_model_open(argv[1], NULL, &model);
  if (status == DSF_OK)
    status = dsf_session_create(model, NULL, &session);
  if (status == DSF_OK)
    status = generate(model, session, argv[2], tokens);
  if (status != DSF_OK)
    fprintf(stderr, "generate: error: %s\n", dsf_last_error());
  dsf_session_close(session);
  dsf_model_close(model);
  return status == DSF_OK ? 0 : 1;
}
