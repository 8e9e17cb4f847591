//===- TokenizerLoader.cpp - Reads tokenizer.json -------------------------===//
//
// Everything in the file that would change ids is either understood exactly or
// refused.
//
//===----------------------------------------------------------------------===//

#include "ByteAlphabet.h"
#include "TokenizerTables.h"
#include "dsflash/Support/Json.h"

#include <limits>
#include <unordered_map>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Values of a tokenizer.json: a token is one and a merge three; the largest
/// that are in use have a few hundred thousand of each.
constexpr size_t kMaxTokenizerValues = size_t(1) << 23;

/// A member that is there and not null, or nullptr.
const json *find(const json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

/// The text of a member, or nothing if there is no such string.
std::optional<std::string_view> findString(const json &object,
                                           const char *key) {
  const json *member = find(object, key);
  if (!member || !member->is_string())
    return std::nullopt;
  return member->get_ref<const std::string &>();
}

/// A token id, or nothing.
std::optional<int32_t> asId(const json &value) {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() >= uint64_t(std::numeric_limits<int32_t>::max()))
    return std::nullopt;
  return value.get<int32_t>();
}

std::string element(const char *list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

std::string jsonString(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

namespace dsflash {

class TokenizerLoader {
public:
  TokenizerLoader(const json &document, const std::string &where)
      : document(document), where(where),
        tables(std::make_shared<Tokenizer::Tables>()) {}

  Result<Tokenizer> load() {
    checkModel();
    checkSurroundings();
    readPreTokenizer();
    if (status)
      readVocabulary();
    if (status)
      readAddedTokens();
    if (status)
      fillBytes();
    if (status)
      readMerges();
    if (!status)
      return status;
    return Tokenizer(std::move(tables));
  }

private:
  void fail(const std::string &path, const std::string &why) {
    status.add(where + ": " + path, why);
  }

  /// A feature that changes ids and is supported only where it is off.
  void requireOff(const std::string &path, const json &object,
                  const char *key) {
    const json *value = find(object, key);
    bool isOff = !value || *value == false || *value == "";
    if (!isOff)
      fail(path + key, "unsupported value " + value->dump());
  }

  void checkModel();
  void checkSurroundings();
  void readPreTokenizer();
  void checkSplit(const std::string &path, const json &split,
                  const char *pattern);
  void readVocabulary();
  void readAddedTokens();
  void fillBytes();
  void readMerges();
  bool readMerge(const std::string &path, const json &merge);

  const json &document;
  const std::string &where;
  Status status;
  std::shared_ptr<Tokenizer::Tables> tables;
  const json *model = nullptr;
  std::unordered_map<std::string_view, int32_t> vocabulary;
  std::unordered_map<std::string_view, int32_t> added;
};

} // namespace dsflash

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

void TokenizerLoader::checkModel() {
  model = find(document, "model");
  if (!model)
    return fail("model", "missing");
  if (std::optional<std::string_view> type = findString(*model, "type");
      type && *type != "BPE")
    fail("model.type",
         "unsupported model " + jsonString(*type) + ", expected BPE");
  for (const char *key :
       {"dropout", "unk_token", "continuing_subword_prefix",
        "end_of_word_suffix", "byte_fallback", "ignore_merges"})
    requireOff("model.", *model, key);
}

void TokenizerLoader::checkSurroundings() {
  for (const char *key : {"truncation", "padding"})
    requireOff("", document, key);
  if (const json *normalizer = find(document, "normalizer")) {
    const json *list = find(*normalizer, "normalizers");
    if (findString(*normalizer, "type") != "Sequence" || !list ||
        !list->empty())
      fail("normalizer", "unsupported, expected none or an empty Sequence");
  }
  // A ByteLevel post-processor changes offsets, never ids.
  if (const json *processor = find(document, "post_processor"))
    if (findString(*processor, "type") != "ByteLevel")
      fail("post_processor", "unsupported, expected none or ByteLevel");
  const json *decoder = find(document, "decoder");
  if (!decoder || findString(*decoder, "type") != "ByteLevel")
    fail("decoder", "unsupported, expected ByteLevel");
}

void TokenizerLoader::readPreTokenizer() {
  const json *preTokenizer = find(document, "pre_tokenizer");
  std::optional<std::string_view> type;
  if (preTokenizer)
    type = findString(*preTokenizer, "type");
  if (type == "ByteLevel") {
    tables->splitRule = SplitRule::ByteLevel;
    requireOff("pre_tokenizer.", *preTokenizer, "add_prefix_space");
    const json *useRegex = find(*preTokenizer, "use_regex");
    if (useRegex && *useRegex != true)
      fail("pre_tokenizer.use_regex", "unsupported value " + useRegex->dump());
    return;
  }
  const json *stages =
      type == "Sequence" ? find(*preTokenizer, "pretokenizers") : nullptr;
  constexpr size_t kSplits = std::size(kSplitPatterns);
  if (!stages || !stages->is_array() || stages->size() != kSplits + 1)
    return fail("pre_tokenizer", "unsupported, expected ByteLevel or a "
                                 "Sequence of three Splits and ByteLevel");
  tables->splitRule = SplitRule::ThreeSplits;
  for (size_t i = 0; i < kSplits; ++i)
    checkSplit(element("pre_tokenizer.pretokenizers", i), (*stages)[i],
               kSplitPatterns[i]);
  const json &bytes = (*stages)[kSplits];
  std::string path = element("pre_tokenizer.pretokenizers", kSplits);
  if (findString(bytes, "type") != "ByteLevel")
    return fail(path + ".type", "unsupported, expected ByteLevel");
  requireOff(path + ".", bytes, "add_prefix_space");
  const json *useRegex = find(bytes, "use_regex");
  if (!useRegex || *useRegex != false)
    fail(path + ".use_regex", "unsupported, expected false");
}

void TokenizerLoader::checkSplit(const std::string &path, const json &split,
                                 const char *pattern) {
  if (findString(split, "type") != "Split")
    return fail(path + ".type", "unsupported, expected Split");
  if (findString(split, "behavior") != "Isolated")
    fail(path + ".behavior", "unsupported, expected Isolated");
  requireOff(path + ".", split, "invert");
  const json *kind = find(split, "pattern");
  if (!kind || findString(*kind, "Regex") != pattern)
    fail(path + ".pattern",
         "unsupported, expected the Regex " + jsonString(pattern));
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void TokenizerLoader::readVocabulary() {
  const json *vocab = find(*model, "vocab");
  if (!vocab || !vocab->is_object())
    return fail("model.vocab", "expected an object of ids");
  vocabulary.reserve(vocab->size());
  for (const auto &[token, value] : vocab->items()) {
    std::optional<int32_t> id = asId(value);
    if (!id)
      return fail("model.vocab[" + jsonString(token) + "]",
                  "no token id: " + value.dump());
    vocabulary.emplace(token, *id);
  }
}

void TokenizerLoader::readAddedTokens() {
  const json *list = find(document, "added_tokens");
  if (!list)
    return;
  if (!list->is_array())
    return fail("added_tokens", "expected a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const json &token = (*list)[i];
    std::string path = element("added_tokens", i);
    std::optional<std::string_view> content = findString(token, "content");
    if (!content || content->empty())
      return fail(path + ".content", "expected a text that is not empty");
    const json *value = find(token, "id");
    std::optional<int32_t> id = value ? asId(*value) : std::nullopt;
    if (!id)
      return fail(path + ".id", "expected a token id");
    for (const char *key : {"single_word", "lstrip", "rstrip"})
      requireOff(path + ".", token, key);
    auto inVocabulary = vocabulary.find(*content);
    if (inVocabulary != vocabulary.end() && inVocabulary->second != *id)
      return fail(path + ".id", "is " + std::to_string(*id) +
                                    ", but model.vocab has this token as " +
                                    std::to_string(inVocabulary->second));
    if (!added.emplace(*content, *id).second)
      return fail(path + ".content",
                  "added token " + jsonString(*content) + " is given twice");
    tables->addedTokens.add(*content, *id);
  }
}

/// Orders all tokens by id and stores their bytes.
void TokenizerLoader::fillBytes() {
  size_t count = vocabulary.size();
  for (const auto &[content, id] : added)
    count += vocabulary.find(content) == vocabulary.end();

  std::vector<std::string_view> spelling(count);
  std::vector<bool> taken(count);
  tables->isAdded.resize(count);
  auto place = [&](std::string_view token, int32_t id) {
    if (size_t(id) >= count)
      return; // then a smaller id is free
    if (taken[id])
      fail("id " + std::to_string(id), "is given to " +
                                           jsonString(spelling[id]) + " and " +
                                           jsonString(token));
    taken[id] = true;
    spelling[id] = token;
  };
  for (const auto &[token, id] : vocabulary)
    place(token, id);
  for (const auto &[content, id] : added) {
    if (vocabulary.find(content) == vocabulary.end())
      place(content, id);
    if (size_t(id) < count)
      tables->isAdded[id] = true;
  }
  if (!status)
    return;
  for (size_t id = 0; id < count; ++id) {
    if (!taken[id])
      return fail("id " + std::to_string(id),
                  "no token has it, but tokens have larger ids");
    if (tables->isAdded[id]) {
      tables->bytes += spelling[id];
    } else {
      std::optional<std::string> bytes = bytesOfSpelling(spelling[id]);
      if (!bytes)
        return fail("model.vocab[" + jsonString(spelling[id]) + "]",
                    "not byte-level: it has characters that stand for no byte");
      tables->bytes += *bytes;
    }
    tables->offsets.push_back(tables->bytes.size());
  }
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

void TokenizerLoader::readMerges() {
  const json *merges = find(*model, "merges");
  if (!merges || !merges->is_array())
    return fail("model.merges", "expected a list");
  std::array<int32_t, 256> byteIds;
  for (int byte = 0; byte < 256; ++byte) {
    std::string spelling = spellBytes(std::string(1, char(byte)));
    auto token = vocabulary.find(spelling);
    if (token == vocabulary.end())
      return fail("model.vocab", "no token for byte " + std::to_string(byte) +
                                     ", spelled " + jsonString(spelling));
    byteIds[byte] = token->second;
  }
  tables->bytePairs = BytePairEncoder(byteIds, merges->size());
  for (size_t i = 0; i < merges->size(); ++i)
    if (!readMerge(element("model.merges", i), (*merges)[i]))
      return;
}

/// Reads ["left", "right"] or "left right"; false after a fault.
bool TokenizerLoader::readMerge(const std::string &path, const json &merge) {
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
  if (left.empty() || right.empty()) {
    fail(path, "expected two tokens");
    return false;
  }
  std::string merged = std::string(left).append(right);
  int32_t ids[3];
  std::string_view tokens[] = {left, right, merged};
  for (size_t i = 0; i < 3; ++i) {
    auto token = vocabulary.find(tokens[i]);
    if (token == vocabulary.end()) {
      fail(path, "token " + jsonString(tokens[i]) + " is not in model.vocab");
      return false;
    }
    ids[i] = token->second;
  }
  if (tables->bytePairs.addMerge(ids[0], ids[1], ids[2]))
    return true;
  fail(path, "this pair has a merge already");
  return false;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static Result<Tokenizer> build(const Result<json> &document,
                               const std::string &where) {
  if (!document)
    return document.status();
  return TokenizerLoader(*document, where).load();
}

Result<Tokenizer> Tokenizer::load(const std::string &path) {
  return build(readJsonFile(path, kMaxTokenizerValues), path);
}

Result<Tokenizer> Tokenizer::parse(std::string_view json,
                                   const std::string &where) {
  return build(parseJson(json, where, kMaxTokenizerValues), where);
}
