//===- KernelBench.cpp - Time of each kernel of a model -------------------===//

#include "dsflash/Bench/KernelBench.h"
#include "Format.h"
#include "LaunchTimes.h"
#include "LoadedModel.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Where the prompt of the phase "prefill" stands in the compiler's report.
constexpr int64_t kPrompt = RandomSequence::kChunk;
/// Kernels below this part of a phase share a row of the table.
constexpr double kSmallPart = 0.003;

/// What all launches of a kernel in a phase have to do.
struct Work {
  double bytes = 0;
  double operations = 0;
};

/// By name and phase.
using WorkTable = std::map<std::pair<std::string, std::string>, Work>;

/// The kernels of the compiler's report whose work it knows.
Result<WorkTable> readReport(const std::string &path) {
  WorkTable table;
  auto addKernel = [&](const std::string &, const json &row) {
    auto has = [&](const char *key, bool (json::*isType)() const noexcept) {
      return row.is_object() && row.contains(key) && (row[key].*isType)();
    };
    if (has("name", &json::is_string) && has("phase", &json::is_string) &&
        has("flops", &json::is_number) && has("bytes_read", &json::is_number) &&
        has("bytes_written", &json::is_number))
      table[{row["name"], row["phase"]}] = {
          row["bytes_read"].get<double>() + row["bytes_written"].get<double>(),
          row["flops"].get<double>()};
  };
  Result<json> report =
      readJsonFile(path, {{{"kernels"}, json::value_t::array, addKernel}});
  if (!report)
    return report.status();
  if (!report->is_object() || !report->contains("kernels"))
    return Status::error(path, "has no list \"kernels\"");
  return table;
}

/// How near a kernel is to what bounds it.
struct Bound {
  const char *limit;
  double fraction;
};

Bound boundOf(const KernelTime &kernel, const MachineLimits &limits) {
  double memory = *kernel.bytes / limits.memory;
  double compute = *kernel.operations / limits.fp32;
  return {memory > compute ? "memory" : "compute",
          std::max(memory, compute) / kernel.seconds};
}

/// The part of a kernel's name that says its sizes: "512x2048_e4m3" of
/// "linear_512x2048_e4m3".
std::string shapeOf(const std::string &name) {
  size_t digit = name.find_first_of("0123456789");
  while (digit != std::string::npos && digit > 0 && name[digit - 1] != '_')
    digit = name.find_first_of("0123456789", digit + 1);
  return digit == std::string::npos ? "" : name.substr(digit);
}

Status measure(LoadedModel &loaded, const KernelBenchOptions &options,
               std::vector<KernelTime> &kernels) {
  if (Status status = readAndForget(*loaded.runner, kPrompt); !status)
    return status;
  Result<RandomSequence> sequence = RandomSequence::create(*loaded.runner);
  if (!sequence)
    return sequence.status();
  KernelNames names;
  auto timePhase = [&](const char *phase, int64_t repeats, auto run) {
    LaunchTimes times(*loaded.pool);
    for (int64_t i = 0; i < repeats; ++i)
      if (Status status = run(); !status)
        return status;
    for (KernelTime &kernel : times.kernels(phase, repeats, names))
      kernels.push_back(std::move(kernel));
    return Status();
  };
  if (Status status =
          timePhase("prefill", 1, [&] { return sequence->read(kPrompt); });
      !status)
    return status;
  if (Status status = sequence->fork(options.sequences); !status)
    return status;
  return timePhase("decode", options.generate,
                   [&] { return sequence->generate(); });
}

} // namespace

json KernelBench::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const KernelTime &kernel : kernels) {
    nlohmann::json row = {
        {"name", kernel.name},   {"phase", kernel.phase},
        {"count", kernel.count}, {"shape", shapeOf(kernel.name)},
        {"gb_s", nullptr},       {"seconds", kernel.seconds},
        {"gflop_s", nullptr},    {"limit", nullptr},
        {"fraction", nullptr}};
    if (kernel.bytes) {
      Bound bound = boundOf(kernel, limits);
      row["gb_s"] = *kernel.bytes / kernel.seconds / 1e9;
      row["gflop_s"] = *kernel.operations / kernel.seconds / 1e9;
      row["limit"] = bound.limit;
      row["fraction"] = bound.fraction;
    }
    rows.push_back(std::move(row));
  }
  return {{"limits", limits.json()}, {"kernels", rows}};
}

static void addRow(std::string &text, const KernelTime &kernel, double total,
                   const MachineLimits &limits) {
  appendFormat(text, "  %-36s %8lld %10.3f %5.1f%%", kernel.name.c_str(),
               static_cast<long long>(kernel.count), kernel.seconds * 1e3,
               100 * kernel.seconds / total);
  if (kernel.bytes) {
    Bound bound = boundOf(kernel, limits);
    appendFormat(
        text, " %8.1f %9.1f  %.2f of %s", *kernel.bytes / kernel.seconds / 1e9,
        *kernel.operations / kernel.seconds / 1e9, bound.fraction, bound.limit);
  }
  text += "\n";
}

std::string KernelBench::table() const {
  std::string text = limits.table();
  for (auto begin = kernels.begin(); begin != kernels.end();) {
    auto end = std::find_if(begin, kernels.end(), [&](const KernelTime &other) {
      return other.phase != begin->phase;
    });
    double total = std::accumulate(begin, end, 0.0,
                                   [](double sum, const KernelTime &kernel) {
                                     return sum + kernel.seconds;
                                   });
    appendFormat(text, "%s: %.2f ms in kernels\n", begin->phase.c_str(),
                 total * 1e3);
    appendFormat(text, "  %-36s %8s %10s %6s %8s %9s  %s\n", "kernel",
                 "launches", "ms", "part", "GB/s", "GFLOP/s", "of its limit");
    KernelTime others;
    int small = 0;
    for (; begin != end; ++begin) {
      if (begin->seconds >= kSmallPart * total) {
        addRow(text, *begin, total, limits);
        continue;
      }
      ++small;
      others.count += begin->count;
      others.seconds += begin->seconds;
    }
    others.name = std::to_string(small) + " others";
    if (small > 0)
      addRow(text, others, total, limits);
  }
  return text;
}

Result<KernelBench> dsflash::benchKernels(const KernelBenchOptions &options) {
  WorkTable work;
  if (!options.report.empty()) {
    Result<WorkTable> reported = readReport(options.report);
    if (!reported)
      return reported.status();
    work = std::move(*reported);
  }
  Result<LoadedModel> loaded =
      LoadedModel::open(options.model, options.weights, options.threads);
  if (!loaded)
    return loaded.status();
  KernelBench bench;
  bench.limits = measureLimits(options.threads);
  if (Status status = measure(*loaded, options, bench.kernels); !status)
    return status;
  for (KernelTime &kernel : bench.kernels)
    if (auto found = work.find({kernel.name, kernel.phase});
        found != work.end()) {
      kernel.bytes = found->second.bytes;
      kernel.operations = found->second.operations;
    }
  return bench;
}
