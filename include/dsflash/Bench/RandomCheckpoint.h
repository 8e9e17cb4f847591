//===- RandomCheckpoint.h - A checkpoint of any config ----------*- C++ -*-===//
//
// Speed depends on sizes, not on what a model knows: random weights in the
// released format stand in for a checkpoint that is not at hand.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_RANDOMCHECKPOINT_H
#define DSFLASH_BENCH_RANDOMCHECKPOINT_H

#include "dsflash/Support/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace dsflash {

struct RandomCheckpointOptions {
  /// The same seed gives the same bytes.
  uint64_t seed = 0;
  /// A shard is closed before it grows beyond this, except for one tensor that
  /// is larger by itself.
  int64_t shardBytes = int64_t(4) << 30;
  /// Bytes of tensors written so far, of so many; may be empty.
  std::function<void(int64_t done, int64_t total)> progress;
};

/// Writes config.json, tokenizer.json, shards and their index into a folder
/// that is made or empty, in constant memory. Weights are normal with the
/// spread of a trained model, so that no value degenerates. The config is
/// `configPath`, but with the engram_compressed_vocab_size of the written
/// tokenizer. Errors: a config that is wrong or whose vocabulary has no room
/// for all bytes and special tokens, a folder with files, too little space.
Status writeRandomCheckpoint(const std::string &configPath,
                             const std::string &folder,
                             const RandomCheckpointOptions &options);

/// A tokenizer.json without merges: BOS, EOS, PAD, the 256 bytes, the special
/// tokens of a chat and place holders up to vocabSize ids. Error: no room.
Result<std::string> byteTokenizerJson(int64_t vocabSize);

} // namespace dsflash

#endif // DSFLASH_BENCH_RANDOMCHECKPOINT_H
