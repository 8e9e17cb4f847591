//===- ComparisonText.cpp - A comparison as JSON and as a table -----------===//

#include "Format.h"
#include "dsflash/Bench/Comparison.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace dsflash;
using nlohmann::json;

namespace {

json describe(const Comparison::Variant &variant, int64_t promptTokens) {
  return {{"model", variant.path},
          {"prompt_seconds", variant.promptSeconds},
          {"prompt_tokens_s", double(promptTokens) / variant.promptSeconds},
          {"generate_tokens_s", 1 / variant.stepSeconds},
          {"launches", variant.launches},
          {"bytes",
           {{"code", variant.codeBytes},
            {"workspace", variant.workspaceBytes},
            {"session", variant.sessionBytes},
            {"weights_per_token",
             variant.weightBytes ? json(*variant.weightBytes) : json()}}},
          {"ir_operations", variant.operations}};
}

json describe(const Comparison::Ratio &ratio) {
  return {
      {"median", ratio.median}, {"least", ratio.least}, {"most", ratio.most}};
}

json describe(const LogitDifference &logits) {
  return {{"nmse", logits.values.nmse()},
          {"kl", logits.kl()},
          {"positions", logits.positions},
          {"flipped_tokens", logits.flipped}};
}

/// NMSE and flipped choices by observation point.
json describe(const Comparison::Layer &layer) {
  json nmse = json::object(), flipped = json::object();
  for (const auto &[name, difference] : layer.values)
    nmse[name] = difference.nmse();
  for (const auto &[name, difference] : layer.choices)
    flipped[name] = {{"flipped", difference.flipped}, {"of", difference.total}};
  return {{"nmse", nmse}, {"flipped", flipped}};
}

/// A row of what is one number for each variant, and their ratio.
void addRow(std::string &text, const char *name, double a, double b) {
  appendFormat(text, "  %-30s %14.6g %14.6g", name, a, b);
  if (a != 0)
    appendFormat(text, " %8.3f", b / a);
  text += "\n";
}

void addRow(std::string &text, const char *name, double a, double b,
            const Comparison::Ratio &ratio) {
  appendFormat(text, "  %-30s %14.3f %14.3f %8.3f (%.3f to %.3f)\n", name,
               1e3 * a, 1e3 * b, ratio.median, ratio.least, ratio.most);
}

void addNmse(std::string &text, const Comparison::Layer &layer,
             const char *name) {
  auto found = layer.values.find(name);
  if (found == layer.values.end())
    appendFormat(text, " %10s", "-");
  else
    appendFormat(text, " %10.2e", found->second.nmse());
}

void addFlipped(std::string &text, const Comparison::Layer &layer,
                const char *name) {
  auto found = layer.choices.find(name);
  std::string cell = found == layer.choices.end()
                         ? "-"
                         : std::to_string(found->second.flipped) + "/" +
                               std::to_string(found->second.total);
  appendFormat(text, " %14s", cell.c_str());
}

} // namespace

json Comparison::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto &[number, layer] : layers) {
    nlohmann::json row = describe(layer);
    row["layer"] = number;
    row["kl"] = layer.lens.kl();
    row["flipped_tokens"] = layer.lens.flipped;
    row["positions"] = layer.lens.positions;
    rows.push_back(std::move(row));
  }
  return {
      {"compare",
       {{"a", describe(variants[0], promptTokens)},
        {"b", describe(variants[1], promptTokens)},
        {"prompt_tokens", promptTokens},
        {"ratio", {{"prompt", describe(prompt)}, {"generate", describe(step)}}},
        {"layers", rows},
        {"head", describe(head)},
        {"end", describe(end)}}}};
}

std::string Comparison::table() const {
  const auto &[a, b] = variants;
  std::string text;
  appendFormat(text, "A: %s\nB: %s\n", a.path.c_str(), b.path.c_str());
  appendFormat(text, "  %-30s %14s %14s %8s\n", "", "A", "B", "B/A");
  std::string promptRow = "prompt of " + std::to_string(promptTokens) + ", ms";
  addRow(text, promptRow.c_str(), a.promptSeconds, b.promptSeconds, prompt);
  addRow(text, "decode step, ms", a.stepSeconds, b.stepSeconds, step);
  addRow(text, "launches a step", double(a.launches), double(b.launches));
  addRow(text, "code, bytes", double(a.codeBytes), double(b.codeBytes));
  addRow(text, "workspace, bytes", double(a.workspaceBytes),
         double(b.workspaceBytes));
  addRow(text, "session, bytes", double(a.sessionBytes),
         double(b.sessionBytes));
  if (a.weightBytes && b.weightBytes)
    addRow(text, "weights of a token, bytes", *a.weightBytes, *b.weightBytes);
  for (const char *stage : {"dsflash", "phases", "kernels", "llvm"})
    if (a.operations.count(stage) && b.operations.count(stage))
      addRow(text, (std::string(stage) + " IR, operations").c_str(),
             double(a.operations.at(stage)), double(b.operations.at(stage)));

  if (!noLayers.empty())
    appendFormat(text, "%s\n", noLayers.c_str());
  else
    appendFormat(text, "%6s %10s %10s %10s %10s %14s %14s\n", "layer", "stream",
                 "attn.out", "ffn.out", "KL", "attn.selected", "ffn.experts");
  for (const auto &[number, layer] : layers) {
    appendFormat(text, "%6lld", static_cast<long long>(number));
    for (const char *name : {"attn.stream", "attn.out", "ffn.out"})
      addNmse(text, layer, name);
    appendFormat(text, " %10.2e", layer.lens.kl());
    for (const char *name : {"attn.selected", "ffn.experts"})
      addFlipped(text, layer, name);
    text += "\n";
  }
  appendFormat(text,
               "end: NMSE %.3e, KL %.3e nats, best token differs at %lld of "
               "%lld positions\n",
               end.values.nmse(), end.kl(), static_cast<long long>(end.flipped),
               static_cast<long long>(end.positions));
  return text;
}
