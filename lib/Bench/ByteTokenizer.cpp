//===- ByteTokenizer.cpp - The smallest tokenizer.json --------------------===//

#include "../Tokens/ByteAlphabet.h"
#include "dsflash/Bench/RandomCheckpoint.h"

#include <nlohmann/json.hpp>

#include <vector>

using namespace dsflash;
using nlohmann::json;

static constexpr const char *kFirst[] = {
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"};
static constexpr const char *kLast[] = {
    "<｜System｜>", "<｜User｜>", "<｜Assistant｜>",
    "<think>",      "</think>",   "<｜deepseek_image｜>"};
static constexpr int64_t kBytes = 256;

Result<std::string> dsflash::byteTokenizerJson(int64_t vocabSize) {
  constexpr int64_t needed = std::size(kFirst) + kBytes + std::size(kLast);
  if (vocabSize < needed)
    return Status::error(
        "vocab_size", std::to_string(vocabSize) + " has no room for the " +
                          std::to_string(needed) + " bytes and special tokens");
  json vocab = json::object(), added = json::array();
  auto addSpecial = [&](const std::string &text) {
    size_t id = vocab.size();
    vocab[text] = id;
    added.push_back({{"id", id},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  };
  for (const char *text : kFirst)
    addSpecial(text);
  for (int64_t byte = 0; byte < kBytes; ++byte) {
    size_t id = vocab.size();
    vocab[spellBytes(std::string(1, char(byte)))] = id;
  }
  for (const char *text : kLast)
    addSpecial(text);
  // A tokenizer can have more tokens than added ones.
  for (int64_t i = 0; i < vocabSize - needed; ++i) {
    size_t id = vocab.size();
    vocab[spellBytes("<｜place▁holder▁no▁" + std::to_string(i) + "｜>")] = id;
  }

  json split = {{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", true}};
  json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false},
                {"vocab", std::move(vocab)},
                {"merges", json::array()}};
  return json{{"version", "1.0"},          {"truncation", nullptr},
              {"padding", nullptr},        {"added_tokens", std::move(added)},
              {"normalizer", nullptr},     {"pre_tokenizer", split},
              {"post_processor", nullptr}, {"decoder", split},
              {"model", std::move(model)}}
      .dump(1);
}
