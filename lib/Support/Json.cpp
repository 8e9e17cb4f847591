//===- Json.cpp - JSON text to a document ---------------------------------===//

#include "dsflash/Support/Json.h"
#include "dsflash/Support/MappedFile.h"

#include <algorithm>
#include <iterator>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Input of the lexer that tells how far it was read.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *current, const char *&reached)
      : current(current), reached(&reached) {}

  reference operator*() const { return *current; }
  CountingIterator &operator++() {
    *reached = ++current;
    return *this;
  }
  bool operator==(const CountingIterator &other) const {
    return current == other.current;
  }
  bool operator!=(const CountingIterator &other) const {
    return current != other.current;
  }

private:
  const char *current;
  const char **reached;
};

/// Builds the document; the first fault stops the parse.
class DocumentBuilder : public nlohmann::json_sax<json> {
public:
  json root;
  std::string fault;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; }

  bool start_object(size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    auto [entry, isNew] =
        parents.back()->get_ref<json::object_t &>().emplace(name, nullptr);
    if (!isNew)
      return fail("key " + json(name).dump() + " is given twice");
    member = &entry->second;
    return true;
  }

  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception.x] parse error at line 1, column 2: why"
    std::string text = error.what();
    text.erase(0, text.find("] ") + 2);
    if (text.compare(0, 12, "parse error ") == 0)
      text.erase(0, text.find(": ") + 2);
    return fail(text);
  }

private:
  bool fail(std::string why) {
    fault = std::move(why);
    return false;
  }

  json *place(json value) {
    if (parents.empty()) {
      root = std::move(value);
      return &root;
    }
    json &parent = *parents.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    *member = std::move(value);
    return member;
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (parents.size() == size_t(kMaxJsonDepth))
      return fail("nested deeper than " + std::to_string(kMaxJsonDepth));
    parents.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    parents.pop_back();
    return true;
  }

  std::vector<json *> parents;
  json *member = nullptr;
};

} // namespace

Result<json> dsflash::parseJson(std::string_view text, std::string_view where) {
  if (text.size() > kMaxJsonBytes)
    return Status::error(std::string(where),
                         "JSON text of " + std::to_string(text.size()) +
                             " bytes, at most " +
                             std::to_string(kMaxJsonBytes) + " are read");
  const char *begin = text.data(), *reached = begin;
  DocumentBuilder builder;
  bool ok =
      json::sax_parse(CountingIterator(begin, reached),
                      CountingIterator(begin + text.size(), reached), &builder);
  if (ok)
    return std::move(builder.root);
  const char *last = reached == begin ? begin : reached - 1;
  const char *lineStart = std::find(std::make_reverse_iterator(last),
                                    std::make_reverse_iterator(begin), '\n')
                              .base();
  return Status::error(std::string(where) + ":" +
                           std::to_string(1 + std::count(begin, last, '\n')) +
                           ":" + std::to_string(1 + (last - lineStart)),
                       builder.fault);
}

Result<json> dsflash::readJsonFile(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return parseJson(file->text(), path);
}
