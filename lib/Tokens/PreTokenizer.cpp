//===- PreTokenizer.cpp - Text to the pieces that BPE works on ------------===//

#include "PreTokenizer.h"
#include "Utf8.h"

#include <algorithm>

using namespace dsflash;
using namespace dsflash::char_class;

const char *const dsflash::kSplitPatterns[3] = {
    "\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+"
    "|\\s+(?!\\S)"
    "|\\s+"};

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {

struct ClassRange {
  char32_t first, last;
  uint8_t bits;
};

constexpr ClassRange kClassRanges[] = {
#include "UnicodeClasses.inc"
    {'\n', '\n', Newline},
    {'\r', '\r', Newline},
    {0x3040, 0x30FF, EastAsian},
    {0x4E00, 0x9FA5, EastAsian}};

/// One byte of classes for each code point.
std::vector<uint8_t> makeClassTable() {
  std::vector<uint8_t> table(0x110000);
  for (const ClassRange &range : kClassRanges)
    for (char32_t c = range.first; c <= range.last; ++c)
      table[c] |= range.bits;
  return table;
}

} // namespace

Result<std::vector<uint8_t>> dsflash::classifyText(std::string_view text) {
  static const std::vector<uint8_t> table = makeClassTable();
  std::vector<uint8_t> classes(text.size(), Tail);
  for (size_t at = 0; at < text.size();) {
    Utf8Step step = utf8Step(text, at);
    if (step.kind != Utf8Step::Valid)
      return Status::error("text",
                           "no valid UTF-8 at byte " + std::to_string(at));
    classes[at] = table[step.codePoint];
    at += step.length;
  }
  return classes;
}

//===----------------------------------------------------------------------===//
// Scanners
//===----------------------------------------------------------------------===//

namespace {

bool isAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Scans text[0, end); the end counts as the end of the text.
class Scanner {
public:
  Scanner(std::string_view text, const uint8_t *classes, size_t end)
      : text(text), classes(classes), end(end) {}

  /// End of the longest run of characters with one of the classes of `mask`.
  size_t run(size_t at, uint8_t mask) const {
    mask |= Tail;
    while (at < end && (classes[at] & mask))
      ++at;
    return at;
  }

  /// End of the longest run of characters with none of the classes of `mask`.
  size_t runWithout(size_t at, uint8_t mask) const {
    while (at < end && !(classes[at] & mask))
      ++at;
    return at;
  }

  /// End of the match of the third of kSplitPatterns at `at`, or `at` if there
  /// is none.
  size_t matchWord(size_t at) const {
    uint8_t here = classes[at];
    if (here & (Letter | Mark))
      return run(at, Letter | Mark);
    size_t next = run(at + 1, 0);
    if (here & PunctSymbol) {
      if (uint8_t(text[at]) < 0x80 && next < end && isAsciiLetter(text[next]))
        return asciiLetters(next);
      return run(run(at, PunctSymbol), Newline);
    }
    if (!(here & Newline) && is(next, Letter | Mark))
      return run(next, Letter | Mark);
    if (text[at] == ' ' && is(next, PunctSymbol))
      return run(run(next, PunctSymbol), Newline);
    if (!(here & Space))
      return at;
    size_t lines = afterLastNewline(at);
    return lines != at ? lines : matchSpace(at);
  }

  /// End of the match of the ByteLevel pattern at `at`; it matches everywhere.
  size_t matchByteLevel(size_t at) const {
    if (size_t length = contractionLength(at))
      return at + length;
    size_t start = at;
    if (text[at] == ' ' && at + 1 < end && !is(at + 1, Space))
      ++start;
    if (is(start, Space))
      return matchSpace(start);
    for (uint8_t mask : {Letter, Number})
      if (is(start, mask))
        return run(start, mask);
    return runWithout(start, Space | Letter | Number);
  }

private:
  bool is(size_t at, uint8_t mask) const {
    return at < end && (classes[at] & mask);
  }

  size_t asciiLetters(size_t at) const {
    while (at < end && isAsciiLetter(text[at]))
      ++at;
    return at;
  }

  /// \s*[\r\n]+, or `at`.
  size_t afterLastNewline(size_t at) const {
    size_t after = at;
    for (; at < end && (classes[at] & (Space | Tail)); ++at)
      if (classes[at] & Newline)
        after = at + 1;
    return after;
  }

  /// \s+(?!\S)|\s+: white space but for its last character, which stays with
  /// what follows, if there is something on both sides.
  size_t matchSpace(size_t at) const {
    size_t stop = run(at, Space);
    if (stop == end)
      return stop;
    size_t last = stop - 1;
    while (classes[last] & Tail)
      --last;
    return last == at ? stop : last;
  }

  size_t contractionLength(size_t at) const {
    if (text[at] != '\'')
      return 0;
    std::string_view rest = text.substr(at, std::min<size_t>(end - at, 3));
    for (std::string_view suffix :
         {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (rest.substr(0, suffix.size()) == suffix)
        return suffix.size();
    return 0;
  }

  std::string_view text;
  const uint8_t *classes;
  size_t end;
};

/// The third split of one piece of the second; what it does not match stays
/// together as pieces of its own.
void splitWords(const Scanner &scanner, size_t begin, size_t end,
                std::vector<size_t> &pieceEnds) {
  bool unmatchedBefore = false;
  for (size_t at = begin; at < end;) {
    size_t stop = scanner.matchWord(at);
    bool unmatched = stop == at;
    if (unmatchedBefore && !unmatched)
      pieceEnds.push_back(at);
    if (unmatched)
      at = scanner.run(at + 1, 0);
    else
      pieceEnds.push_back(at = stop);
    unmatchedBefore = unmatched;
  }
  if (unmatchedBefore)
    pieceEnds.push_back(end);
}

void splitNumbers(const uint8_t *classes, size_t begin, size_t end,
                  std::vector<size_t> &pieceEnds) {
  int digits = 0;
  for (size_t at = begin; at < end; ++at) {
    if (classes[at] & Tail)
      continue;
    if (digits == 3)
      pieceEnds.push_back(at);
    digits = digits % 3 + 1;
  }
  pieceEnds.push_back(end);
}

} // namespace

void dsflash::splitText(SplitRule rule, std::string_view text,
                        const std::vector<uint8_t> &classes, size_t begin,
                        size_t end, std::vector<size_t> &pieceEnds) {
  Scanner whole(text, classes.data(), end);
  if (rule == SplitRule::ByteLevel) {
    for (size_t at = begin; at < end;)
      pieceEnds.push_back(at = whole.matchByteLevel(at));
    return;
  }
  for (size_t at = begin, stop; at < end; at = stop) {
    if (classes[at] & Number) {
      stop = whole.run(at, Number);
      splitNumbers(classes.data(), at, stop, pieceEnds);
      continue;
    }
    stop = classes[at] & EastAsian ? whole.run(at, EastAsian)
                                   : whole.runWithout(at, EastAsian | Number);
    splitWords(Scanner(text, classes.data(), stop), at, stop, pieceEnds);
  }
}
