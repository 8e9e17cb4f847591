//===- TokenizerFeatures.cpp - What a tokenizer.json asks for -------------===//

#include "TokenizerFeatures.h"
#include "dsflash/Support/Json.h"

#include <iterator>

using namespace dsflash;
using nlohmann::json;

const json *dsflash::find(const json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

std::optional<std::string_view> dsflash::findString(const json &object,
                                                    const char *key) {
  const json *member = find(object, key);
  if (!member || !member->is_string())
    return std::nullopt;
  return member->get_ref<const std::string &>();
}

std::string dsflash::element(const char *list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

std::string dsflash::jsonString(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void dsflash::requireOff(Status &status, const std::string &path,
                         const json &object, const char *key) {
  const json *value = find(object, key);
  bool isOff = !value || *value == false || *value == "";
  if (!isOff)
    status.add(path + key, "unsupported value " + value->dump());
}

namespace {

class FeatureChecker {
public:
  FeatureChecker(const json &document, const std::string &where)
      : document(document), where(where) {}

  Result<SplitRule> check() {
    checkModel();
    checkSurroundings();
    readPreTokenizer();
    if (!status)
      return status;
    return rule;
  }

private:
  void fail(const std::string &path, const std::string &why) {
    status.add(where + ": " + path, why);
  }
  void off(const std::string &path, const json &object, const char *key) {
    requireOff(status, where + ": " + path, object, key);
  }

  void checkModel();
  void checkSurroundings();
  void readPreTokenizer();
  void checkSplit(const std::string &path, const json &split,
                  const char *pattern);

  const json &document;
  const std::string &where;
  Status status;
  SplitRule rule = SplitRule::ThreeSplits;
};

} // namespace

void FeatureChecker::checkModel() {
  const json *model = find(document, "model");
  if (!model)
    return fail("model", "missing");
  if (std::optional<std::string_view> type = findString(*model, "type");
      type && *type != "BPE")
    fail("model.type",
         "unsupported model " + jsonString(*type) + ", expected BPE");
  for (const char *key :
       {"dropout", "unk_token", "continuing_subword_prefix",
        "end_of_word_suffix", "byte_fallback", "ignore_merges"})
    off("model.", *model, key);
}

void FeatureChecker::checkSurroundings() {
  for (const char *key : {"truncation", "padding"})
    off("", document, key);
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

void FeatureChecker::readPreTokenizer() {
  const json *preTokenizer = find(document, "pre_tokenizer");
  std::optional<std::string_view> type;
  if (preTokenizer)
    type = findString(*preTokenizer, "type");
  if (type == "ByteLevel") {
    rule = SplitRule::ByteLevel;
    off("pre_tokenizer.", *preTokenizer, "add_prefix_space");
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
  rule = SplitRule::ThreeSplits;
  for (size_t i = 0; i < kSplits; ++i)
    checkSplit(element("pre_tokenizer.pretokenizers", i), (*stages)[i],
               kSplitPatterns[i]);
  const json &bytes = (*stages)[kSplits];
  std::string path = element("pre_tokenizer.pretokenizers", kSplits);
  if (findString(bytes, "type") != "ByteLevel")
    return fail(path + ".type", "unsupported, expected ByteLevel");
  off(path + ".", bytes, "add_prefix_space");
  const json *useRegex = find(bytes, "use_regex");
  if (!useRegex || *useRegex != false)
    fail(path + ".use_regex", "unsupported, expected false");
}

void FeatureChecker::checkSplit(const std::string &path, const json &split,
                                const char *pattern) {
  if (findString(split, "type") != "Split")
    return fail(path + ".type", "unsupported, expected Split");
  if (findString(split, "behavior") != "Isolated")
    fail(path + ".behavior", "unsupported, expected Isolated");
  off(path + ".", split, "invert");
  const json *kind = find(split, "pattern");
  if (!kind || findString(*kind, "Regex") != pattern)
    fail(path + ".pattern",
         "unsupported, expected the Regex " + jsonString(pattern));
}

Result<SplitRule> dsflash::checkTokenizerFeatures(const json &document,
                                                  const std::string &where) {
  return FeatureChecker(document, where).check();
}
