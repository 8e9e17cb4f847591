//===- TextStream.cpp - Generated tokens to text as it comes --------------===//

#include "dsflash/Runtime/TextStream.h"

#include <algorithm>

using namespace dsflash;

TextStream::TextStream(std::vector<std::string> stopTexts)
    : stops(std::move(stopTexts)) {
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

std::string TextStream::release(bool atEnd) {
  size_t stop = held.npos;
  for (const std::string &text : stops)
    stop = std::min(stop, held.find(text));
  found = stop != held.npos;

  size_t keep = 0;
  if (!found && !atEnd)
    for (const std::string &text : stops)
      for (size_t n = std::min(text.size() - 1, held.size()); n > keep; --n)
        if (held.compare(held.size() - n, n, text, 0, n) == 0)
          keep = n;
  std::string ready = held.substr(0, found ? stop : held.size() - keep);
  held.erase(0, ready.size());
  return ready;
}
