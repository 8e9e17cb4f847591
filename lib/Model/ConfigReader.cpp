//===- ConfigReader.cpp - Checked fields of a JSON object -----------------===//

#include "ConfigReader.h"

#include <cmath>

using namespace dsflash;
using nlohmann::json;

/// JSON text of a value, cut to what fits a message.
static std::string shortText(const json &value) {
  constexpr size_t kLongest = 40;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

static std::string wrongType(const char *expected, const json &value) {
  return std::string("expected ") + expected + ", got " + shortText(value);
}

ConfigReader::ConfigReader(const json &object, std::string path,
                           ConfigFaults &faults)
    : source(object), path(std::move(path)), faults(faults) {}

std::string ConfigReader::pathOf(const std::string &key) const {
  return path + (json::json_pointer() / key).to_string();
}

const json *ConfigReader::take(const char *key, Need need) {
  taken.insert(key);
  auto found = source.find(key);
  if (found != source.end() && !(need == Need::Optional && found->is_null()))
    return &*found;
  if (need == Need::Required)
    faults.addUnknown(pathOf(key), "missing");
  return nullptr;
}

std::optional<int64_t> ConfigReader::toInteger(const json &value,
                                               const std::string &valuePath,
                                               int64_t low, int64_t high) {
  if (!value.is_number_integer()) {
    faults.addUnknown(valuePath, wrongType("an integer", value));
    return std::nullopt;
  }
  bool huge =
      value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX);
  int64_t number = huge ? 0 : value.get<int64_t>();
  if (huge || number < low || number > high) {
    faults.addUnknown(valuePath, shortText(value) + " is not in " +
                                     std::to_string(low) + " .. " +
                                     std::to_string(high));
    return std::nullopt;
  }
  return number;
}

void ConfigReader::integer(const char *key, int64_t &field, int64_t low,
                           int64_t high, Need need) {
  if (const json *value = take(key, need))
    field = toInteger(*value, pathOf(key), low, high).value_or(field);
}

void ConfigReader::integer(const char *key, std::optional<int64_t> &field,
                           int64_t low, int64_t high) {
  if (const json *value = take(key, Need::Optional))
    field = toInteger(*value, pathOf(key), low, high);
}

void ConfigReader::integers(const char *key, std::vector<int64_t> &field,
                            int64_t low, int64_t high, Need need) {
  const json *value = take(key, need);
  if (!value)
    return;
  std::string listPath = pathOf(key);
  if (!value->is_array())
    return faults.addUnknown(listPath, wrongType("a list of integers", *value));
  field.clear();
  bool complete = true;
  for (size_t i = 0; i < value->size(); ++i) {
    std::string itemPath = listPath + "/" + std::to_string(i);
    std::optional<int64_t> item = toInteger((*value)[i], itemPath, low, high);
    complete &= item.has_value();
    field.push_back(item.value_or(low));
  }
  if (!complete)
    faults.markUnknown(listPath);
}

void ConfigReader::number(const char *key, double &field, Sign sign,
                          Need need) {
  const json *value = take(key, need);
  if (!value)
    return;
  if (!value->is_number())
    return faults.addUnknown(pathOf(key), wrongType("a number", *value));
  float single = static_cast<float>(value->get<double>());
  bool inRange = sign == Sign::Positive ? single > 0 : single >= 0;
  if (!inRange || !std::isfinite(single))
    return faults.addUnknown(pathOf(key),
                             shortText(*value) +
                                 (sign == Sign::Positive
                                      ? " is not a positive float32"
                                      : " is not a float32 of at least 0"));
  field = value->get<double>();
}

void ConfigReader::number(const char *key, std::optional<double> &field,
                          Sign sign) {
  if (take(key, Need::Optional))
    number(key, field.emplace(), sign);
}

void ConfigReader::flag(const char *key, bool &field, Need need) {
  const json *value = take(key, need);
  if (!value)
    return;
  if (!value->is_boolean())
    return faults.addUnknown(pathOf(key), wrongType("true or false", *value));
  field = value->get<bool>();
}

void ConfigReader::fixed(const char *key, const json &expected, Need need) {
  const json *value = take(key, need);
  if (value && *value != expected)
    faults.addUnknown(pathOf(key), "only " + expected.dump() +
                                       " is supported, got " +
                                       shortText(*value));
}

const json *ConfigReader::object(const char *key, Need need) {
  const json *value = take(key, need);
  if (!value || value->is_object())
    return value;
  faults.addUnknown(pathOf(key), wrongType("an object", *value));
  return nullptr;
}

void ConfigReader::finish() {
  for (const auto &[key, value] : source.items())
    if (!taken.count(key))
      faults.add(pathOf(key), "unknown key");
}
