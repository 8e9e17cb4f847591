//===- ReportPage.cpp - The report as a page ------------------------------===//

#include "Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;
using nlohmann::ordered_json;

static constexpr StringRef kStyle =
    "body{font:15px sans-serif;margin:2em auto;max-width:75em;color:#222}"
    "table{border-collapse:collapse;margin:0.5em 0 2em}"
    "th,td{padding:0.2em 0.8em;border-bottom:1px solid #ddd;text-align:left;"
    "vertical-align:top}th{position:sticky;top:0;background:#f4f4f4}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "code{font-size:13px}summary{cursor:pointer}";

static std::string escape(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

/// Large numbers in thousands, so that columns can be compared at a glance.
static std::string getNumber(const ordered_json &value) {
  if (value.is_number_float() && value.get<double>() < 1000)
    return llvm::formatv("{0:F3}", value.get<double>()).str();
  return llvm::formatv("{0:N0}", value.get<double>() < 0
                                     ? 0
                                     : uint64_t(value.get<double>()))
      .str();
}

static std::string getCell(const ordered_json &value) {
  if (value.is_null())
    return "<td class=n>&ndash;</td>";
  if (value.is_number())
    return "<td class=n>" + getNumber(value) + "</td>";
  if (value.is_boolean())
    return value.get<bool>() ? "<td>yes</td>" : "<td>no</td>";
  if (value.is_string())
    return "<td><code>" + escape(value.get<std::string>()) + "</code></td>";
  std::string lines;
  for (const ordered_json &row : value)
    lines += "<br><code>" +
             escape(row["access"].get<std::string>() + " " +
                    row["type"].get<std::string>()) +
             "</code>";
  return "<td><details><summary>" + std::to_string(value.size()) +
         "</summary>" + lines + "</details></td>";
}

/// Rows with the same keys.
static std::string getTable(const ordered_json &rows) {
  if (rows.empty())
    return "<p>none</p>\n";
  std::string text = "<table>\n<tr>";
  for (const auto &[key, value] : rows.front().items())
    text += "<th>" + escape(key) + "</th>";
  text += "</tr>\n";
  for (const ordered_json &row : rows) {
    text += "<tr>";
    for (const auto &[key, value] : row.items())
      text += getCell(value);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

/// Names and numbers.
static std::string getList(const ordered_json &object) {
  std::string text = "<table>\n";
  for (const auto &[key, value] : object.items())
    text += "<tr><td>" + escape(key) + "</td>" + getCell(value) + "</tr>\n";
  return text + "</table>\n";
}

std::string makeReportPage(const ordered_json &report,
                           const std::string &title) {
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<meta "
                     "charset=\"utf-8\">\n<title>" +
                     escape(title) + "</title>\n<style>" + kStyle.str() +
                     "</style>\n<h1>" + escape(title) + "</h1>\n";
  ordered_json single = ordered_json::object();
  for (const auto &[key, value] : report.items())
    if (value.is_primitive())
      single[key] = value;
  text += getList(single);
  for (const auto &[key, value] : report.items())
    if (!value.is_primitive())
      text += "<h2>" + escape(key) + "</h2>\n" +
              (value.is_array() ? getTable(value) : getList(value));
  return text + "</html>\n";
}
