//===- ConfigReader.h - Checked fields of a JSON object ---------*- C++ -*-===//
//
// ConfigReader and ConfigWriter have the same methods, so that one list of
// fields both reads and writes a config.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_MODEL_CONFIGREADER_H
#define DSFLASH_LIB_MODEL_CONFIGREADER_H

#include "dsflash/Support/Json.h"
#include "dsflash/Support/Status.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dsflash {

/// Whether a field may be absent (it then keeps its default).
enum class Need { Required, Optional };
/// Range of a real number; it must keep to it in float32.
enum class Sign { Positive, NonNegative };

/// Collects the faults of a config, each with its JSON path.
class ConfigFaults {
public:
  explicit ConfigFaults(std::string where) : where(std::move(where)) {}

  void add(const std::string &path, const std::string &why) {
    status.add(where + ": " + (path.empty() ? "/" : path), why);
  }
  /// A fault that leaves the value of this path unknown.
  void addUnknown(const std::string &path, const std::string &why) {
    add(path, why);
    markUnknown(path);
  }
  void markUnknown(const std::string &path) { unknown.insert(path); }
  bool isUnknown(const std::string &path) const {
    return unknown.count(path) != 0;
  }
  const Status &result() const { return status; }

private:
  std::string where;
  Status status;
  std::set<std::string> unknown;
};

/// Takes the fields of one JSON object; finish() names the keys that nobody
/// took.
class ConfigReader {
public:
  ConfigReader(const nlohmann::json &object, std::string path,
               ConfigFaults &faults);

  void integer(const char *key, int64_t &field, int64_t low, int64_t high,
               Need need = Need::Required);
  void integer(const char *key, std::optional<int64_t> &field, int64_t low,
               int64_t high);
  /// A list of integers, each in [low, high].
  void integers(const char *key, std::vector<int64_t> &field, int64_t low,
                int64_t high, Need need = Need::Required);
  void number(const char *key, double &field, Sign sign,
              Need need = Need::Required);
  void number(const char *key, std::optional<double> &field, Sign sign);
  void flag(const char *key, bool &field, Need need);
  /// A key with a single supported value.
  void fixed(const char *key, const nlohmann::json &value,
             Need need = Need::Optional);
  /// A key without meaning here.
  void ignore(const char *key) { taken.insert(key); }
  /// The object of a key; null if there is none or it is no object.
  const nlohmann::json *object(const char *key, Need need = Need::Optional);
  /// An object that may be absent; `visit(reader, field)` reads its fields.
  template <typename T, typename Visit>
  void object(const char *key, std::optional<T> &field, Visit visit) {
    if (const nlohmann::json *value = object(key)) {
      ConfigReader reader(*value, pathOf(key), faults);
      visit(reader, field.emplace());
      reader.finish();
    }
  }

  void finish();

private:
  std::string pathOf(const std::string &key) const;
  /// The value of a key; null if it is absent (a fault if it is required).
  const nlohmann::json *take(const char *key, Need need);
  std::optional<int64_t> toInteger(const nlohmann::json &value,
                                   const std::string &path, int64_t low,
                                   int64_t high);

  const nlohmann::json &source;
  std::string path;
  ConfigFaults &faults;
  std::set<std::string> taken;
};

/// Writes the same fields, in the order in which they are visited.
class ConfigWriter {
public:
  nlohmann::ordered_json result = nlohmann::ordered_json::object();

  void integer(const char *key, int64_t field, int64_t, int64_t,
               Need = Need::Required) {
    result[key] = field;
  }
  void integer(const char *key, const std::optional<int64_t> &field, int64_t,
               int64_t) {
    if (field)
      result[key] = *field;
  }
  void integers(const char *key, const std::vector<int64_t> &field, int64_t,
                int64_t, Need = Need::Required) {
    result[key] = field;
  }
  void number(const char *key, double field, Sign, Need = Need::Required) {
    result[key] = field;
  }
  void number(const char *key, const std::optional<double> &field, Sign) {
    if (field)
      result[key] = *field;
  }
  void flag(const char *key, bool field, Need) { result[key] = field; }
  void fixed(const char *key, const nlohmann::json &value,
             Need = Need::Optional) {
    result[key] = value;
  }
  template <typename T, typename Visit>
  void object(const char *key, const std::optional<T> &field, Visit visit) {
    if (!field)
      return;
    ConfigWriter writer;
    visit(writer, *field);
    result[key] = std::move(writer.result);
  }
};

} // namespace dsflash

#endif // DSFLASH_LIB_MODEL_CONFIGREADER_H
