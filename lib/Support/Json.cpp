//===- Json.cpp - JSON text to a document ---------------------------------===//

#include "dsflash/Support/Json.h"
#include "dsflash/Support/MappedFile.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

/// Receives the parts of a document; the first fault stops the parse.
class JsonReceiver : public nlohmann::json_sax<json> {
public:
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

  bool start_object(size_t) override { return enter(json::object()); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(json::array()); }
  bool end_array() override { return leave(); }

  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception.x] parse error at line 1, column 2: why"
    std::string text = error.what();
    text.erase(0, text.find("] ") + 2);
    if (text.compare(0, 12, "parse error ") == 0)
      text.erase(0, text.find(": ") + 2);
    return fail(text);
  }

protected:
  virtual bool add(json scalar) = 0;
  virtual bool open(json container) = 0;
  virtual bool close() = 0;

  bool fail(std::string why) {
    fault = std::move(why);
    return false;
  }

private:
  bool enter(json container) {
    if (nesting == kMaxJsonDepth)
      return fail("nested deeper than " + std::to_string(kMaxJsonDepth));
    ++nesting;
    return open(std::move(container));
  }

  bool leave() {
    --nesting;
    return close();
  }

  int nesting = 0;
};

/// Builds the document, without the elements that streams take.
class DocumentBuilder : public JsonReceiver {
public:
  explicit DocumentBuilder(const std::vector<JsonStream> &streams)
      : streams(streams) {}

  json root;

  bool key(string_t &name) override {
    auto [entry, isNew] =
        parents.back()->get_ref<json::object_t &>().emplace(name, nullptr);
    if (!isNew)
      return fail("key " + json(name).dump() + " is given twice");
    member = &entry->second;
    if (!stream)
      path.back() = name;
    return true;
  }

private:
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

  bool add(json scalar) override {
    if (!takeOne())
      return false;
    const JsonStream *here = streamHere();
    if (here && (parents.empty() || !scalar.is_null()))
      return expected(*here);
    json *placed = place(std::move(scalar));
    return handOn(*placed);
  }

  bool open(json container) override {
    if (!takeOne())
      return false;
    const JsonStream *here = streamHere();
    if (here && container.type() != here->type)
      return expected(*here);
    parents.push_back(place(std::move(container)));
    if (here) {
      stream = here;
      streamDepth = parents.size();
      leftOutside = std::exchange(left, kMaxJsonValues);
    } else if (!stream) {
      path.emplace_back();
    }
    return true;
  }

  bool close() override {
    json *closed = parents.back();
    if (stream && parents.size() == streamDepth) {
      stream = nullptr;
      left = leftOutside;
    } else if (!stream) {
      path.pop_back();
    }
    parents.pop_back();
    return handOn(*closed);
  }

  /// Gives a complete element to the stream that it belongs to.
  bool handOn(const json &element) {
    if (!stream || parents.size() != streamDepth)
      return true;
    json &container = *parents.back();
    static const std::string noName;
    stream->take(container.is_object() ? container.begin().key() : noName,
                 element);
    container.clear();
    left = kMaxJsonValues;
    return true;
  }

  /// The stream that takes the value at the current place, if there is one.
  const JsonStream *streamHere() const {
    if (stream)
      return nullptr;
    for (const JsonStream &candidate : streams)
      if (candidate.path == path)
        return &candidate;
    return nullptr;
  }

  bool expected(const JsonStream &here) {
    std::string place;
    for (const std::string &name : here.path)
      place += (place.empty() ? "" : ".") + name;
    return fail(place + (place.empty() ? "" : ": ") + "expected " +
                (here.type == json::value_t::object ? "an object" : "a list"));
  }

  bool takeOne() {
    return left-- > 0 ||
           fail("more than " + std::to_string(kMaxJsonValues) + " values");
  }

  const std::vector<JsonStream> &streams;
  size_t left = kMaxJsonValues, leftOutside = 0;
  std::vector<json *> parents;
  json *member = nullptr;
  /// Keys from the root to the current place, outside of streams; empty texts
  /// for elements of lists.
  std::vector<std::string> path;
  const JsonStream *stream = nullptr; ///< around the current place
  size_t streamDepth = 0;             ///< parents of its elements
};

/// The last string or number that begins more than kMaxJsonToken bytes before
/// the next one or the end, or null. The lexer keeps all text from where one
/// begins, several times.
const char *findLongToken(std::string_view text) {
  const char *begin = text.data(), *end = begin + text.size(), *start = begin;
  bool inString = false, inNumber = false;
  for (const char *c = begin; c != end; ++c) {
    if (size_t(c - start) > kMaxJsonToken)
      return start;
    bool isQuote = *c == '"';
    bool isNumber = !inString && (*c == '-' || (*c >= '0' && *c <= '9'));
    if ((isQuote && !inString) || (isNumber && !inNumber))
      start = c;
    inNumber = isNumber ||
               (inNumber && (*c == '.' || *c == 'e' || *c == 'E' || *c == '+'));
    if (inString && *c == '\\' && c + 1 != end)
      ++c;
    else if (isQuote)
      inString = !inString;
  }
  return size_t(end - start) > kMaxJsonToken ? start : nullptr;
}

/// "where:line:column: why" for a place in a text.
Status errorAt(std::string_view text, std::string_view where, const char *place,
               const std::string &why) {
  const char *begin = text.data();
  const char *lineStart = std::find(std::make_reverse_iterator(place),
                                    std::make_reverse_iterator(begin), '\n')
                              .base();
  return Status::error(std::string(where) + ":" +
                           std::to_string(1 + std::count(begin, place, '\n')) +
                           ":" + std::to_string(1 + (place - lineStart)),
                       why);
}

Status parseWith(JsonReceiver &receiver, std::string_view text,
                 std::string_view where) {
  if (text.size() > kMaxJsonBytes)
    return Status::error(std::string(where),
                         "JSON text of " + std::to_string(text.size()) +
                             " bytes, at most " +
                             std::to_string(kMaxJsonBytes) + " are read");
  if (const char *place = findLongToken(text))
    return errorAt(text, where, place,
                   "no other string or number within " +
                       std::to_string(kMaxJsonToken) + " bytes");
  const char *begin = text.data(), *reached = begin;
  bool ok = json::sax_parse(CountingIterator(begin, reached),
                            CountingIterator(begin + text.size(), reached),
                            &receiver);
  if (ok)
    return Status();
  return errorAt(text, where, reached == begin ? begin : reached - 1,
                 receiver.fault);
}

} // namespace

Result<json> dsflash::parseJson(std::string_view text, std::string_view where,
                                const std::vector<JsonStream> &streams) {
  DocumentBuilder builder(streams);
  if (Status status = parseWith(builder, text, where); !status)
    return status;
  return std::move(builder.root);
}

Result<json> dsflash::readJsonFile(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return parseJson(file->text(), path);
}
