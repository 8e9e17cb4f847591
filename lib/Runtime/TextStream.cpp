//===- TextStream.cpp - Generated tokens to text as it comes --------------===//

#include "dsflash/Runtime/TextStream.h"

#include <algorithm>

using namespace dsflash;

TextStream::TextStream(std::vector<std::string> stopTexts,
                       std::string behindText)
    : stops(std::move(stopTexts)), behind(std::move(behindText)) {
  stops.erase(std::remove(stops.begin(), stops.end(), ""), stops.end());
}

std::string TextStream::feed(std::string_view bytes) {
  if (found)
    return "";
  held += decoder.feed(bytes);
  return release(/*atEnd=*/false);
}

std::string TextStream::finish() {
  if (found)
    return "";
  held += decoder.finish();
  return release(/*atEnd=*/true);
}

size_t TextStream::startOf(const std::string &text, size_t from) const {
  for (size_t n = std::min(text.size() - 1, held.size() - from); n > 0; --n)
    if (held.compare(held.size() - n, n, text, 0, n) == 0)
      return n;
  return 0;
}

std::string TextStream::release(bool atEnd) {
  size_t from = 0, keep = 0;
  if (!behind.empty()) {
    size_t at = held.find(behind);
    if (at == held.npos) {
      keep = atEnd ? 0 : startOf(behind, 0);
      from = held.size();
    } else {
      from = at + behind.size();
      behind.clear();
    }
  }
  size_t stop = held.npos;
  for (const std::string &text : stops)
    stop = std::min(stop, held.find(text, from));
  found = stop != held.npos;

  if (!found && !atEnd)
    for (const std::string &text : stops)
      keep = std::max(keep, startOf(text, from));
  std::string ready = held.substr(0, found ? stop : held.size() - keep);
  held.erase(0, ready.size());
  return ready;
}
