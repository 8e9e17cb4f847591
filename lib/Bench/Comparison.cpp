//===- Comparison.cpp - Two compiled variants side by side ----------------===//

#include "dsflash/Bench/Comparison.h"
#include "LayerValues.h"
#include "LoadedModel.h"
#include "dsflash/Bench/ModelBench.h"
#include "dsflash/Tokens/TokenFile.h"

#include <algorithm>
#include <filesystem>

using namespace dsflash;

namespace {

/// Positions that pass both models before their values are compared.
constexpr int64_t kChunk = 64;
/// Of the last positions the head also sees the streams of all layers, which
/// takes a call a layer.
constexpr int64_t kLensPositions = 16;

/// A and B and what passes their observation points.
struct Side {
  LoadedModel loaded;
  std::unique_ptr<LayerValues> values;

  const dsf_module &module() const { return loaded.model->module(); }
};
using Sides = std::array<Side, 2>;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Sends the prompt through both models, chunk by chunk.
class ValueBench {
public:
  ValueBench(Sides &sides, Comparison &result) : sides(sides), result(result) {}

  Status run(const std::vector<int32_t> &prompt) {
    for (Side &side : sides) {
      Result<Session> session = Session::create(side.module());
      if (!session)
        return session.status();
      sessions.push_back(std::move(*session));
      if (sides[0].values && sides[1].values)
        side.loaded.runner->setObserver(side.values.get());
    }
    auto size = int64_t(prompt.size());
    for (int64_t next = 0; next < size;) {
      int64_t before = std::max<int64_t>(size - kLensPositions, next);
      int64_t end = next < before ? std::min(before, next + kChunk) : size;
      chunk = {&prompt[size_t(next)], &prompt[size_t(next)] + (end - next)};
      if (Status status = compareChunk(end == size); !status)
        return status;
      next = end;
    }
    return {};
  }

private:
  Status compareChunk(bool isLast) {
    std::vector<Session> before;
    for (size_t i = 0; i < sides.size() && isLast; ++i) {
      Result<Session> fork = sessions[i].fork(0);
      if (!fork)
        return fork.status();
      before.push_back(std::move(*fork));
    }
    if (Status status = forward(sessions, result.end); !status)
      return status;
    if (!result.noLayers.empty())
      return {};
    std::array<LayerValues::Table, 2> tables = {sides[0].values->take(),
                                                sides[1].values->take()};
    compareTables(tables);
    return isLast ? look(tables, before) : Status();
  }

  /// Runs the chunk behind both sessions and adds up how far the logits are
  /// apart.
  Status forward(std::vector<Session> &behind, LogitDifference &difference) {
    auto rows = int64_t(chunk.size());
    for (size_t i = 0; i < sides.size(); ++i)
      if (Status status = sides[i].loaded.runner->forward(
              {{&behind[i], chunk.data(), rows, rows}});
          !status)
        return status;
    for (int64_t row = 0; row < rows; ++row)
      difference.add(sides[0].loaded.runner->logits(0, row),
                     sides[1].loaded.runner->logits(0, row),
                     sides[0].module().vocab_size);
    return {};
  }

  void compareTables(const std::array<LayerValues::Table, 2> &tables) {
    for (const auto &[name, a] : tables[0]) {
      auto found = tables[1].find(name);
      if (found == tables[1].end())
        continue;
      const LayerValues::Rows &b = found->second;
      auto [number, part] = splitLayer(name);
      Comparison::Layer &layer =
          number < 0 ? result.head : result.layers[number];
      if (a.elements != b.elements || a.floats.size() != b.floats.size() ||
          a.integers.size() != b.integers.size())
        continue;
      if (!a.floats.empty())
        layer.values[part].add(a.floats.data(), b.floats.data(),
                               int64_t(a.floats.size()));
      for (size_t i = 0; i < a.integers.size(); i += size_t(a.elements))
        layer.choices[part].add(&a.integers[i], &b.integers[i], a.elements);
    }
  }

  /// The chunk again for each layer, with its stream before the head.
  Status look(const std::array<LayerValues::Table, 2> &tables,
              const std::vector<Session> &before) {
    for (auto &[number, layer] : result.layers) {
      std::vector<Session> again;
      for (size_t i = 0; i < sides.size(); ++i) {
        sides[i].values->showHead(&tables[i], number);
        Result<Session> fork = before[i].fork(0);
        if (!fork)
          return fork.status();
        again.push_back(std::move(*fork));
      }
      if (Status status = forward(again, layer.lens); !status)
        return status;
    }
    return {};
  }

  Sides &sides;
  Comparison &result;
  std::vector<Session> sessions;
  std::vector<int32_t> chunk;
};

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Seconds of one prompt, and of the middle one of the steps behind it.
struct Round {
  double prompt = 0, step = 0;
};

Result<Round> timeRound(Side &side, const std::vector<int32_t> &prompt,
                        int64_t generate) {
  Result<RandomSequence> sequence = RandomSequence::create(*side.loaded.runner);
  if (!sequence)
    return sequence.status();
  Round round;
  Stopwatch watch;
  if (Status status = sequence->read(prompt); !status)
    return status;
  round.prompt = watch.seconds();
  std::vector<double> steps;
  for (int64_t i = 0; i < generate; ++i) {
    Stopwatch step;
    if (Status status = sequence->generate(); !status)
      return status;
    steps.push_back(step.seconds());
  }
  round.step = median(std::move(steps));
  return round;
}

std::vector<double> valuesOf(const std::vector<Round> &rounds,
                             double Round::*part) {
  std::vector<double> values;
  for (const Round &round : rounds)
    values.push_back(round.*part);
  return values;
}

Comparison::Ratio ratioOf(const std::array<std::vector<Round>, 2> &rounds,
                          double Round::*part) {
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds[0].size(); ++i)
    ratios.push_back(rounds[1][i].*part / rounds[0][i].*part);
  auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {median(ratios), *least, *most};
}

/// In turns, and every second round B first. The first round only brings the
/// weights into memory.
Status timeBoth(Sides &sides, const std::vector<int32_t> &prompt,
                const ComparisonOptions &options, Comparison &result) {
  std::array<std::vector<Round>, 2> rounds;
  for (int64_t i = 0; i <= options.rounds; ++i)
    for (size_t turn = 0; turn < sides.size(); ++turn) {
      size_t which = (turn + size_t(i)) % sides.size();
      Result<Round> round = timeRound(sides[which], prompt, options.generate);
      if (!round)
        return round.status();
      if (i > 0)
        rounds[which].push_back(*round);
    }
  for (size_t i = 0; i < sides.size(); ++i) {
    result.variants[i].promptSeconds =
        median(valuesOf(rounds[i], &Round::prompt));
    result.variants[i].stepSeconds = median(valuesOf(rounds[i], &Round::step));
  }
  result.prompt = ratioOf(rounds, &Round::prompt);
  result.step = ratioOf(rounds, &Round::step);
  return {};
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Kernels of a decode step behind one token.
Result<int64_t> countLaunches(Side &side) {
  Result<RandomSequence> sequence = RandomSequence::create(*side.loaded.runner);
  if (!sequence)
    return sequence.status();
  if (Status status = sequence->read(1); !status)
    return status;
  int64_t launches = 0;
  side.loaded.pool->setRunObserver([&](dsf_task, double) { ++launches; });
  Status status = sequence->generate();
  side.loaded.pool->setRunObserver({});
  if (!status)
    return status;
  return launches;
}

Status measureSizes(Side &side, int64_t positions, const std::string &weights,
                    Comparison::Variant &variant) {
  const Model &model = *side.loaded.model;
  variant.path = model.path();
  std::error_code error;
  variant.codeBytes =
      int64_t(std::filesystem::file_size(model.path() + "/model.so", error));
  variant.workspaceBytes = side.loaded.runner->executor().workspaceBytes();
  variant.sessionBytes = sessionBytes(model, positions);
  if (Result<ModelConfig> config = configOf(model, weights))
    variant.weightBytes = tokenWork(*config).weightBytes;
  variant.operations = model.manifest().operations;
  Result<int64_t> launches = countLaunches(side);
  if (!launches)
    return launches.status();
  variant.launches = *launches;
  return {};
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

Result<Sides> openBoth(const ComparisonOptions &options) {
  Sides sides;
  Status faults;
  for (size_t i = 0; i < sides.size(); ++i) {
    Result<LoadedModel> opened =
        LoadedModel::open(options.models[i], options.weights, options.threads);
    if (!opened) {
      faults.add(opened.status());
      continue;
    }
    sides[i].loaded = std::move(*opened);
    if (sides[i].module().probe_count > 0)
      sides[i].values = std::make_unique<LayerValues>(sides[i].module());
  }
  if (!faults)
    return faults;
  if (sides[0].module().vocab_size != sides[1].module().vocab_size)
    return Status::error(options.models[1],
                         "has a vocabulary of " +
                             std::to_string(sides[1].module().vocab_size) +
                             ", " + options.models[0] + " one of " +
                             std::to_string(sides[0].module().vocab_size));
  return sides;
}

Result<std::vector<int32_t>> makePrompt(const Sides &sides,
                                        const ComparisonOptions &options) {
  int64_t vocab = sides[0].module().vocab_size;
  std::vector<int32_t> prompt;
  if (options.tokens.empty()) {
    std::mt19937_64 random;
    prompt = randomTokens(random, options.promptTokens, vocab);
  } else {
    Result<std::vector<int32_t>> read = readTokenFile(options.tokens, vocab);
    if (!read)
      return read.status();
    prompt = std::move(*read);
    if (prompt.empty())
      return Status::error(options.tokens, "has no tokens");
  }
  Status faults;
  int64_t needed = int64_t(prompt.size()) + options.generate;
  for (const Side &side : sides)
    if (int64_t most = side.module().max_positions; needed > most)
      faults.add(side.loaded.model->path(),
                 "has " + std::to_string(most) +
                     " positions, prompt and generated tokens need " +
                     std::to_string(needed));
  if (!faults)
    return faults;
  return prompt;
}

/// Why the layers of two models cannot be compared, or "".
std::string reasonForNoLayers(const Sides &sides) {
  std::string missing;
  for (const Side &side : sides)
    if (!side.values)
      missing += (missing.empty() ? "" : " and ") + side.loaded.model->path();
  return missing.empty() ? ""
                         : missing + " without observation points; compile "
                                     "with --probes to compare layers";
}

} // namespace

Result<Comparison> dsflash::compareModels(const ComparisonOptions &options) {
  Result<Sides> sides = openBoth(options);
  if (!sides)
    return sides.status();
  Result<std::vector<int32_t>> prompt = makePrompt(*sides, options);
  if (!prompt)
    return prompt.status();
  Comparison result;
  result.promptTokens = int64_t(prompt->size());
  result.noLayers = reasonForNoLayers(*sides);
  Status status = timeBoth(*sides, *prompt, options, result);
  for (size_t i = 0; i < sides->size() && status; ++i)
    status = measureSizes((*sides)[i], result.promptTokens + options.generate,
                          options.weights, result.variants[i]);
  if (status)
    status = ValueBench(*sides, result).run(*prompt);
  if (!status)
    return status;
  return result;
}
