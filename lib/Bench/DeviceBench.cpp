//===- DeviceBench.cpp - What kernels do on a device that counts ----------===//

#include "dsflash/Bench/DeviceBench.h"
#include "Format.h"
#include "LoadedModel.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <map>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Tokens before the step, where no report says how many.
constexpr int64_t kTokensBefore = 16;

// NVIDIA H200 SXM, data sheet: HBM3e, dense bf16 on tensor cores, FP32.
constexpr double kMemoryBytes = 4.8e12, kTensorFlops = 989e12,
                 kVectorFlops = 67e12;

// Of a multiprocessor of compute capability 9.0 (CUDA programming guide,
// technical specifications per compute capability).
constexpr int64_t kWarps = 64, kBlocks = 32, kRegisters = 65536,
                  kRegisterUnit = 256, kSharedBytes = 228 << 10,
                  kSharedOfBlock = 1 << 10, kWarpThreads = 32;

double number(const json &object, const char *key) {
  return object.is_object() && object.contains(key) && object[key].is_number()
             ? object[key].get<double>()
             : 0;
}

bool has(const json &object, const char *key) {
  return object.is_object() && object.contains(key) && object[key].is_number();
}

double ratio(double value, double least) {
  return least > 0 ? value / least : 1;
}

/// Counters by kernel.
using Snapshot = std::map<std::string, json>;

Snapshot takeSnapshot(const Device &device) {
  Snapshot snapshot;
  for (const json &kernel : json::parse(device.statistics()))
    snapshot[kernel["name"]] = kernel;
  return snapshot;
}

/// What was counted between two snapshots.
json difference(const json &after, const json &before) {
  json result = after;
  for (auto &[key, value] : result.items())
    if (value.is_number() && before.contains(key))
      value = value.get<int64_t>() - before[key].get<int64_t>();
    else if (value.is_object() && before.contains(key))
      value = difference(value, before[key]);
  return result;
}

/// Rows of the phase "decode" by name.
Result<Snapshot> readReport(const std::string &path) {
  Snapshot rows;
  if (path.empty())
    return rows;
  Result<json> report = readJsonFile(path);
  if (!report)
    return report.status();
  if (!report->is_object() || !(*report)["kernels"].is_array())
    return Status::error(path, "has no list \"kernels\"");
  for (const json &row : (*report)["kernels"])
    if (row.is_object() && row.value("phase", json()) == "decode" &&
        row.value("name", json()).is_string())
      rows[row["name"]] = row;
  return rows;
}

/// Tokens before the step that a report has counted.
int64_t getTokensBefore(const Snapshot &report) {
  if (report.empty())
    return kTokensBefore;
  return report.begin()->second.value("tokens_before", kTokensBefore);
}

Status runStep(ModelRunner &runner, int64_t tokensBefore, Snapshot &before,
               Snapshot &after) {
  const Device &device = *runner.executor().device();
  Result<RandomSequence> sequence = RandomSequence::create(runner);
  if (!sequence)
    return sequence.status();
  sequence->skip(tokensBefore);
  before = takeSnapshot(device);
  Status status = sequence->read(1);
  after = takeSnapshot(device);
  return status;
}

} // namespace

double DeviceKernel::uniqueBytes() const {
  return number(counters, "unique_read_bytes") +
         number(counters, "unique_written_bytes");
}

std::optional<double> DeviceKernel::uniqueRatio() const {
  if (!has(report, "bytes_read"))
    return std::nullopt;
  return ratio(uniqueBytes(),
               number(report, "bytes_read") + number(report, "bytes_written"));
}

double DeviceKernel::requestRatio() const {
  return ratio(number(counters, "global_read_bytes") +
                   number(counters, "global_written_bytes"),
               uniqueBytes());
}

std::optional<double> DeviceKernel::formulaRatio() const {
  if (!has(report, "bytes_requested"))
    return std::nullopt;
  return ratio(number(report, "bytes_requested"), uniqueBytes());
}

double DeviceKernel::sectorRatio() const {
  return ratio(number(counters, "global_sectors"),
               number(counters, "ideal_sectors"));
}

double DeviceKernel::bankRatio() const {
  return ratio(number(counters, "shared_passes"),
               number(counters, "ideal_passes"));
}

std::optional<double> DeviceKernel::tensorShare() const {
  double tensor = number(counters, "tensor_flops");
  if (tensor == 0)
    return 0;
  if (!has(report, "flops"))
    return std::nullopt;
  // Rows that fill a tile up are no work.
  return std::min(1.0, tensor / number(report, "flops"));
}

std::optional<double> DeviceKernel::occupancy() const {
  if (!has(report, "registers"))
    return std::nullopt;
  auto roundUp = [](int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  };
  int64_t warps = roundUp(threads, kWarpThreads) / kWarpThreads;
  auto registers = roundUp(int64_t(number(report, "registers")) * kWarpThreads,
                           kRegisterUnit);
  int64_t shared =
      sharedBytes + int64_t(number(report, "shared_memory")) + kSharedOfBlock;
  int64_t blocks =
      std::min({kBlocks, kWarps / warps, kSharedBytes / shared,
                registers ? kRegisters / registers / warps : kBlocks});
  return double(blocks * warps) / double(kWarps);
}

double DeviceKernel::rooflineSeconds() const {
  double tensor = number(counters, "tensor_flops");
  double vector = std::max(0.0, number(report, "flops") - tensor);
  return std::max({uniqueBytes() / kMemoryBytes, tensor / kTensorFlops,
                   vector / kVectorFlops});
}

json DeviceBench::json() const {
  nlohmann::json rows = nlohmann::json::array();
  auto orNull = [](std::optional<double> value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  for (const DeviceKernel &kernel : kernels)
    rows.push_back({{"name", kernel.name},
                    {"unique_ratio", orNull(kernel.uniqueRatio())},
                    {"request_ratio", kernel.requestRatio()},
                    {"request_formula", orNull(kernel.formulaRatio())},
                    {"sector_ratio", kernel.sectorRatio()},
                    {"bank_ratio", kernel.bankRatio()},
                    {"tensor_share", orNull(kernel.tensorShare())},
                    {"occupancy", orNull(kernel.occupancy())},
                    {"roofline_seconds", kernel.rooflineSeconds()},
                    {"counters", kernel.counters},
                    {"report", kernel.report}});
  return {{"kernels", rows}};
}

std::string DeviceBench::table() const {
  std::string text;
  appendFormat(text, "%-40s %8s %9s %8s %8s %8s %8s %6s %7s %8s %8s %7s %9s\n",
               "kernel, one decode step", "launches", "MB", "unique", "request",
               "formula", "sectors", "banks", "tensor", "regs", "spills",
               "warps", "H200 us");
  auto addRatio = [&](std::optional<double> value) {
    if (value)
      appendFormat(text, " %8.3f", *value);
    else
      appendFormat(text, " %8s", "-");
  };
  auto addPercent = [&](std::optional<double> value) {
    if (value)
      appendFormat(text, " %6.0f%%", 100 * *value);
    else
      appendFormat(text, " %7s", "-");
  };
  auto addCount = [&](const nlohmann::json &row, const char *key) {
    appendFormat(text, " %8s", has(row, key) ? row[key].dump().c_str() : "-");
  };
  for (const DeviceKernel &kernel : kernels) {
    appendFormat(text, "%-40s", kernel.name.c_str());
    addCount(kernel.counters, "launches");
    appendFormat(text, " %9.4f", kernel.uniqueBytes() / 1e6);
    addRatio(kernel.uniqueRatio());
    addRatio(kernel.requestRatio());
    addRatio(kernel.formulaRatio());
    addRatio(kernel.sectorRatio());
    appendFormat(text, " %6.2f", kernel.bankRatio());
    addPercent(kernel.tensorShare());
    addCount(kernel.report, "registers");
    addCount(kernel.report, "spills");
    addPercent(kernel.occupancy());
    appendFormat(text, " %9.3f\n", kernel.rooflineSeconds() * 1e6);
  }
  return text;
}

Result<DeviceBench> dsflash::benchDevice(const KernelBenchOptions &options) {
  Result<Snapshot> report = readReport(options.report);
  if (!report)
    return report.status();
  Result<LoadedModel> loaded = LoadedModel::open(
      options.model, options.weights, options.threads, options.device);
  if (!loaded)
    return loaded.status();
  const dsf_module &module = loaded->model->module();
  const Device *device = loaded->runner->executor().device();
  if (!device || device->statistics().empty())
    return Status::error("--device", "'" + options.device +
                                         "' does not count; simt:counters "
                                         "does");
  Snapshot before, after;
  if (Status status =
          runStep(*loaded->runner, getTokensBefore(*report), before, after);
      !status)
    return status;
  DeviceBench bench;
  for (int64_t i = 0; i < module.kernel_count; ++i) {
    DeviceKernel kernel;
    kernel.name = module.kernels[i].name;
    kernel.threads = module.kernels[i].threads;
    kernel.sharedBytes = module.kernels[i].shared_bytes;
    auto counted = after.find(kernel.name);
    if (counted == after.end())
      continue;
    kernel.counters = difference(counted->second, before[kernel.name]);
    auto row = report->find(kernel.name);
    if (row != report->end())
      kernel.report = row->second;
    if (number(kernel.counters, "launches") > 0)
      bench.kernels.push_back(std::move(kernel));
  }
  std::sort(bench.kernels.begin(), bench.kernels.end(),
            [](const DeviceKernel &a, const DeviceKernel &b) {
              return std::pair(-a.rooflineSeconds(), a.name) <
                     std::pair(-b.rooflineSeconds(), b.name);
            });
  return bench;
}
