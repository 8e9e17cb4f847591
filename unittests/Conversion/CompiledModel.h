//===- CompiledModel.h - Model IR that tests can call -----------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_CONVERSION_COMPILEDMODEL_H
#define DSFLASH_UNITTESTS_CONVERSION_COMPILEDMODEL_H

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/ABI/ModuleABI.h"
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dsflash_test {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Floats randomFloats(std::mt19937 &random, size_t count, float limit = 1.0f);

/// The rows of a call: for each sequence its first position and their number.
struct Rows {
  Rows(std::vector<std::pair<int32_t, int32_t>> sequences);

  Ints sequence, position, extents;
  int64_t size() const { return int64_t(sequence.size()); }
  int64_t sequences() const { return int64_t(extents.size()) / 2; }
};

/// The state of one sequence, zero at first.
class State {
public:
  explicit State(const dsf_module &module);

  /// The bytes of one of its planes.
  unsigned char *plane(const std::string &name);
  float *floats(const std::string &name) {
    return reinterpret_cast<float *>(plane(name));
  }
  bool operator==(const State &other) const { return bytes == other.bytes; }
  void *data() { return bytes.data(); }
  size_t size() const { return bytes.size(); }

private:
  const dsf_module &module;
  std::vector<unsigned char> bytes;
};

/// The device whose kernels tests are to run, from DSFLASH_TEST_PTX
/// ("nvptx:sm_80"), on the simt device with all checks; empty: the host.
std::string getTestedDevice();

/// A module with one entry @forward, from model IR to native code.
class CompiledModel {
public:
  explicit CompiledModel(const std::string &text,
                         const std::string &device = getTestedDevice(),
                         const char *deviceOptions = "checks,reverse");
  ~CompiledModel();

  State makeState() const { return State(*module); }
  /// The parameters, in the order of the text.
  std::vector<const void *> weights;
  /// Items of a piece of parallel work; pieces run from the last to the first.
  int64_t piece = 3;

  /// Runs the entry; `tensors` has a buffer for each of its tensors but
  /// sequence, position and extents, by name.
  void run(const Rows &rows, std::vector<State *> states,
           std::map<std::string, void *> tensors);

  /// Of a device with counters: a JSON array of what each kernel did.
  std::string getStatistics() const { return device->statistics(device->user); }

private:
  void runOnHost(const Rows &rows, const std::vector<State *> &states,
                 const std::vector<void *> &buffers);
  void runOnDevice(const Rows &rows, const std::vector<State *> &states,
                   const std::vector<void *> &buffers);

  void *library = nullptr;
  const dsf_module *module = nullptr;
  const dsf_device *device = nullptr; // null: the host
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_CONVERSION_COMPILEDMODEL_H
