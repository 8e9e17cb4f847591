//===- TokenMap.cpp - Engram's compressed token ids -----------------------===//

#include "dsflash/Tokens/TokenMap.h"
#include "ByteAlphabet.h"
#include "Utf8.h"

#include <string>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unordered_map>

using namespace dsflash;

namespace {

/// Whether the bytes decode to text without U+FFFD.
bool isText(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    Utf8Step step = utf8Step(bytes, at);
    if (step.kind != Utf8Step::Valid || step.codePoint == 0xFFFD)
      return false;
    at += step.length;
  }
  return true;
}

/// NFKD, without combining marks, in lower case, with each run of space, tab,
/// CR and LF as one space.
icu::UnicodeString foldText(const icu::Normalizer2 &nfkd,
                            std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  icu::UnicodeString source = nfkd.normalize(
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), text.size())),
      error);
  icu::UnicodeString folded;
  for (int32_t i = 0; i < source.length();) {
    UChar32 c = source.char32At(i);
    i += U16_LENGTH(c);
    if (U_GET_GC_MASK(c) & U_GC_M_MASK)
      continue;
    // Only U+0130 has a lower case of two characters, and NFKD leaves none.
    c = u_tolower(c);
    bool isSpace = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!isSpace)
      folded.append(c);
    else if (!folded.endsWith(u" ", 0, 1))
      folded.append(u' ');
  }
  return folded;
}

/// The text without White_Space at both ends; one single space stays.
icu::UnicodeString stripSpace(const icu::UnicodeString &text) {
  if (text == u" ")
    return text;
  // All White_Space is in the Basic Multilingual Plane.
  int32_t begin = 0, end = text.length();
  while (begin < end && u_isUWhiteSpace(text[begin]))
    ++begin;
  while (begin < end && u_isUWhiteSpace(text[end - 1]))
    --end;
  return icu::UnicodeString(text, begin, end - begin);
}

} // namespace

Result<EngramTokenMap> dsflash::engramTokenMap(const Tokenizer &tokenizer) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2 *nfkd = icu::Normalizer2::getNFKDInstance(error);
  if (U_FAILURE(error))
    return Status::error("ICU normalization data", u_errorName(error));
  EngramTokenMap map;
  std::unordered_map<std::string, int32_t> seen;
  for (int32_t id = 0; id < tokenizer.vocabSize(); ++id) {
    std::string_view bytes = tokenizer.bytes(id);
    std::string key;
    if (isText(bytes)) {
      stripSpace(foldText(*nfkd, bytes)).toUTF8String(key);
      if (key.empty())
        key = bytes;
    } else {
      key = tokenizer.isAdded(id) ? std::string(bytes) : spellBytes(bytes);
    }
    map.compressedIds.push_back(
        seen.emplace(std::move(key), int32_t(seen.size())).first->second);
  }
  map.size = seen.size();
  return map;
}
