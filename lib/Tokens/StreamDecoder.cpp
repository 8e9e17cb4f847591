//===- StreamDecoder.cpp - Tokens to text, whole characters only ----------===//

#include "dsflash/Tokens/StreamDecoder.h"
#include "Utf8.h"

using namespace dsflash;

static constexpr std::string_view kReplacement = "\uFFFD";

std::string StreamDecoder::feed(std::string_view bytes) {
  pending += bytes;
  std::string text;
  size_t at = 0;
  while (at < pending.size()) {
    Utf8Step step = utf8Step(pending, at);
    if (step.kind == Utf8Step::Incomplete)
      break;
    if (step.kind == Utf8Step::Valid)
      text.append(pending, at, step.length);
    else
      text += kReplacement;
    at += step.length;
  }
  pending.erase(0, at);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text(pending.empty() ? "" : kReplacement);
  pending.clear();
  return text;
}
