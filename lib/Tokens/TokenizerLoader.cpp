//===- TokenizerLoader.cpp - Reads tokenizer.json -------------------------===//
//
// Everything in the file that would change ids is either understood exactly or
// refused.
//
//===----------------------------------------------------------------------===//

#include "ByteAlphabet.h"
#include "TokenizerFeatures.h"
#include "TokenizerTables.h"
#include "Vocabulary.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/MappedFile.h"

#include <algorithm>
#include <limits>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Most tokens, and most merges; the largest tokenizers that are in use have
/// a few hundred thousand of each.
constexpr size_t kMaxTokens = size_t(1) << 19;

/// Most bytes of all added tokens together, of which the released tokenizer
/// has 40,000.
constexpr size_t kMaxAddedBytes = size_t(1) << 17;

/// A token id, or nothing.
std::optional<int32_t> asId(const json &value) {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() >= uint64_t(std::numeric_limits<int32_t>::max()))
    return std::nullopt;
  return value.get<int32_t>();
}

} // namespace

namespace dsflash {

/// Reads the text twice: for everything but the merges, which may stand before
/// the tokens that they name, and for the merges. Nothing of the text is kept
/// but short members.
class TokenizerLoader {
public:
  TokenizerLoader(std::string_view text, const std::string &where)
      : text(text), where(where), vocabulary(text.size()),
        added(kMaxAddedBytes), tables(std::make_shared<Tokenizer::Tables>()) {}

  Result<Tokenizer> load() {
    for (auto step :
         {&TokenizerLoader::readAllButMerges, &TokenizerLoader::readFeatures,
          &TokenizerLoader::checkTokens, &TokenizerLoader::fillBytes,
          &TokenizerLoader::readMerges}) {
      (this->*step)();
      if (!status)
        return status;
    }
    return Tokenizer(std::move(tables));
  }

private:
  void fail(const std::string &path, const std::string &why) {
    status.add(where + ": " + path, why);
  }

  Result<json> parse(std::vector<JsonStream> streams);
  void readAllButMerges();
  void readFeatures();
  void readToken(const std::string &spelling, const json &id);
  void readAddedToken(const json &token);
  void checkTokens();
  void fillBytes();
  void readMerges();
  void readMerge(const json &merge);

  std::string_view text;
  const std::string &where;
  Status status;
  json document; ///< without tokens and merges
  Vocabulary vocabulary, added;
  size_t mergeCount = 0;
  std::shared_ptr<Tokenizer::Tables> tables;
};

} // namespace dsflash

/// Parses the text; of the elements, `streams` take only what comes before the
/// first fault.
Result<json> TokenizerLoader::parse(std::vector<JsonStream> streams) {
  for (JsonStream &stream : streams)
    stream.take = [this, take = std::move(stream.take)](const std::string &name,
                                                        const json &value) {
      if (status)
        take(name, value);
    };
  return parseJson(text, where, streams);
}

void TokenizerLoader::readAllButMerges() {
  Result<json> rest = parse(
      {{{"model", "vocab"},
        json::value_t::object,
        [&](const std::string &name, const json &id) { readToken(name, id); }},
       {{"added_tokens"},
        json::value_t::array,
        [&](const std::string &, const json &token) { readAddedToken(token); }},
       {{"model", "merges"},
        json::value_t::array,
        [&](const std::string &, const json &) { ++mergeCount; }}});
  if (rest)
    document = std::move(*rest);
  else
    status = rest.status();
}

void TokenizerLoader::readFeatures() {
  Result<SplitRule> rule = checkTokenizerFeatures(document, where);
  if (rule)
    tables->splitRule = *rule;
  else
    status = rule.status();
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void TokenizerLoader::readToken(const std::string &spelling, const json &id) {
  std::optional<int32_t> valid = asId(id);
  if (!valid)
    fail("model.vocab[" + jsonString(spelling) + "]",
         "no token id: " + id.dump());
  else if (vocabulary.size() == kMaxTokens)
    fail("model.vocab", "more than " + std::to_string(kMaxTokens) + " tokens");
  else
    vocabulary.add(spelling, *valid);
}

void TokenizerLoader::readAddedToken(const json &token) {
  std::string path = element("added_tokens", added.size());
  std::optional<std::string_view> content = findString(token, "content");
  if (!content || content->empty())
    return fail(path + ".content", "expected a text that is not empty");
  const json *value = find(token, "id");
  std::optional<int32_t> id = value ? asId(*value) : std::nullopt;
  if (!id)
    return fail(path + ".id", "expected a token id");
  for (const char *key : {"single_word", "lstrip", "rstrip"})
    requireOff(status, where + ": " + path + ".", token, key);
  if (added.bytes() + content->size() > kMaxAddedBytes)
    return fail(path + ".content", "added tokens are longer than " +
                                       std::to_string(kMaxAddedBytes) +
                                       " bytes in all");
  added.add(*content, *id);
}

/// Compares tokens and added tokens with each other.
void TokenizerLoader::checkTokens() {
  if (!find(document["model"], "vocab"))
    return fail("model.vocab", "expected an object of ids");
  if (std::optional<size_t> twice = vocabulary.index())
    return fail("model.vocab[" + jsonString(vocabulary.spelling(*twice)) + "]",
                "is given twice");
  std::optional<size_t> twice = added.index();
  for (size_t i = 0; i < added.size(); ++i) {
    std::string path = element("added_tokens", i);
    std::string_view content = added.spelling(i);
    std::optional<size_t> token = vocabulary.find(content);
    if (token && vocabulary.id(*token) != added.id(i))
      return fail(path + ".id", "is " + std::to_string(added.id(i)) +
                                    ", but model.vocab has this token as " +
                                    std::to_string(vocabulary.id(*token)));
    if (i == twice)
      return fail(path + ".content",
                  "added token " + jsonString(content) + " is given twice");
    tables->addedTokens.add(content, added.id(i));
  }
}

/// Orders all tokens by id and stores their bytes.
void TokenizerLoader::fillBytes() {
  size_t count = vocabulary.size();
  for (size_t i = 0; i < added.size(); ++i)
    count += !vocabulary.find(added.spelling(i));

  // Tokens of the vocabulary, then added ones.
  constexpr uint32_t kNoToken = UINT32_MAX;
  std::vector<uint32_t> tokenOf(count, kNoToken);
  auto spelling = [&](uint32_t token) {
    return token < vocabulary.size()
               ? vocabulary.spelling(token)
               : added.spelling(token - vocabulary.size());
  };
  auto place = [&](size_t token, int32_t id) {
    if (size_t(id) >= count)
      return; // then a smaller id is free
    if (tokenOf[id] != kNoToken)
      fail("id " + std::to_string(id),
           "is given to " + jsonString(spelling(tokenOf[id])) + " and " +
               jsonString(spelling(token)));
    tokenOf[id] = token;
  };
  tables->isAdded.resize(count);
  for (size_t i = 0; i < vocabulary.size() && status; ++i)
    place(i, vocabulary.id(i));
  for (size_t i = 0; i < added.size() && status; ++i) {
    if (!vocabulary.find(added.spelling(i)))
      place(vocabulary.size() + i, added.id(i));
    if (size_t(added.id(i)) < count)
      tables->isAdded[added.id(i)] = true;
  }
  if (!status)
    return;
  tables->bytes.reserve(vocabulary.bytes() + added.bytes());
  tables->offsets.reserve(count + 1);
  for (size_t id = 0; id < count; ++id) {
    if (tokenOf[id] == kNoToken)
      return fail("id " + std::to_string(id),
                  "no token has it, but tokens have larger ids");
    std::string_view spelled = spelling(tokenOf[id]);
    if (tables->isAdded[id]) {
      tables->bytes += spelled;
    } else {
      std::optional<std::string> bytes = bytesOfSpelling(spelled);
      if (!bytes)
        return fail("model.vocab[" + jsonString(spelled) + "]",
                    "not byte-level: it has characters that stand for no byte");
      tables->bytes += *bytes;
    }
    tables->offsets.push_back(tables->bytes.size());
  }
  tables->bytes.shrink_to_fit();
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

void TokenizerLoader::readMerges() {
  if (!find(document["model"], "merges"))
    return fail("model.merges", "expected a list");
  std::array<int32_t, 256> byteIds;
  for (int byte = 0; byte < 256; ++byte) {
    std::string spelling = spellBytes(std::string(1, char(byte)));
    std::optional<size_t> token = vocabulary.find(spelling);
    if (!token)
      return fail("model.vocab", "no token for byte " + std::to_string(byte) +
                                     ", spelled " + jsonString(spelling));
    byteIds[byte] = vocabulary.id(*token);
  }
  // A token of n bytes can be parted in n - 1 ways.
  size_t most = std::min(kMaxTokens, vocabulary.bytes());
  tables->bytePairs = BytePairEncoder(byteIds, std::min(mergeCount, most));
  mergeCount = 0;
  Result<json> read =
      parse({{{"model", "merges"},
              json::value_t::array,
              [&](const std::string &, const json &merge) {
                if (mergeCount == most)
                  fail("model.merges",
                       "more than " + std::to_string(most) + " merges");
                else
                  readMerge(merge);
                ++mergeCount;
              }},
             {{"model", "vocab"},
              json::value_t::object,
              [](const std::string &, const json &) {}},
             {{"added_tokens"},
              json::value_t::array,
              [](const std::string &, const json &) {}}});
  status.add(read.status());
}

/// Reads ["left", "right"] or "left right".
void TokenizerLoader::readMerge(const json &merge) {
  std::string path = element("model.merges", mergeCount);
  std::string_view left, right;
  if (merge.is_string()) {
    std::string_view both = merge.get_ref<const std::string &>();
    size_t space = both.find(' ');
    if (space != std::string_view::npos) {
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    left = merge[0].get_ref<const std::string &>();
    right = merge[1].get_ref<const std::string &>();
  }
  if (left.empty() || right.empty())
    return fail(path, "expected two tokens");
  std::string merged = std::string(left).append(right);
  int32_t ids[3];
  std::string_view tokens[] = {left, right, merged};
  for (size_t i = 0; i < 3; ++i) {
    std::optional<size_t> token = vocabulary.find(tokens[i]);
    if (!token)
      return fail(path,
                  "token " + jsonString(tokens[i]) + " is not in model.vocab");
    ids[i] = vocabulary.id(*token);
  }
  if (!tables->bytePairs.addMerge(ids[0], ids[1], ids[2]))
    fail(path, "this pair has a merge already");
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Result<Tokenizer> Tokenizer::load(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return parse(file->text(), path);
}

Result<Tokenizer> Tokenizer::parse(std::string_view json,
                                   const std::string &where) {
  return TokenizerLoader(json, where).load();
}
