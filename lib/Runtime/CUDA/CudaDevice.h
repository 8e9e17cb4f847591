//===- CudaDevice.h - One GPU behind the device ABI -------------*- C++ -*-===//
//
// One context and one stream, and another for prefetches, whose ends are events
// that the first waits for; recorded launches are a graph. Nothing waits but
// `wait`, copies to the host and the release of ranges and shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_CUDA_CUDADEVICE_H
#define DSFLASH_RUNTIME_CUDA_CUDADEVICE_H

#include "Driver.h"
#include "dsflash/ABI/DeviceABI.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace dsflash::cuda {

class CudaDevice {
public:
  /// `ordinal` is the text of a number; empty: 0.
  explicit CudaDevice(std::string ordinal) : ordinal(std::move(ordinal)) {}
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;
  ~CudaDevice();

  Status load(const dsf_module *module, const dsf_device_code **chosen);
  Status allocate(const char *name, int64_t bytes, uint32_t access,
                  void **address);
  Status allocateShared(const char *name, int64_t bytes, void **address);
  Status reserve(const char *name, int64_t bytes, void **address);
  Status commit(void *address, int64_t offset, int64_t bytes);
  Status release(void *address);
  Status copy(void *to, const void *from, int64_t bytes);
  Status launch(const dsf_kernel *entry, int64_t items, const void *arguments,
                int64_t argumentBytes);
  Status prefetch(int64_t number, dsf_fill fill, void *context, void *to,
                  const void *from, int64_t bytes);
  Status awaitPrefetch(int64_t number);
  Status beginRecording(int32_t *recording);
  Status endRecording(void **recorded);
  Status replay(void *recorded);
  Status releaseRecording(void *recorded);
  Status wait();
  /// A GPU does not count.
  std::string statistics() const { return ""; }

private:
  /// Also for those whose end no launch waits for since a call failed.
  Status waitForPrefetches();
  /// A reserved range and the parts of it that have memory, by offset.
  struct Range {
    size_t bytes;
    std::map<size_t, size_t> parts;
  };
  struct Kernel {
    CUfunction function = nullptr;
    size_t parameterBytes = 0;
  };
  /// Launches, for the text of a fault.
  struct Launches {
    std::string first, last;
    int64_t count = 0;

    void add(const Launches &more) {
      if (count == 0)
        first = more.first;
      last = more.last;
      count += more.count;
    }
  };
  struct Graph {
    CUgraphExec exec = nullptr;
    Launches launches;
  };

  Status openDevice();
  /// The code of a module that this device runs best, or null.
  const dsf_device_code *choose(const dsf_module &module) const;
  Status loadCode(const dsf_device_code &code);
  Status loadImage(const std::string &what, const void *image);
  Result<Kernel> findKernel(const dsf_kernel &wanted);
  Status addPart(CUdeviceptr begin, Range &range, size_t offset, size_t bytes);
  Status releaseRange(CUdeviceptr begin, Range &range);
  /// Null status for success; else the call's name, the device and the cause.
  Status check(const std::string &call, CUresult code) const;

  std::string ordinal;
  Driver driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUstream prefetches = nullptr;     ///< made when it is needed
  std::map<int64_t, CUevent> events; ///< of prefetches, by number
  CUmodule module = nullptr;
  std::string name;   ///< "NVIDIA H200 (sm_90)"
  int capability = 0; ///< 90
  size_t granularity = 0;
  std::map<CUdeviceptr, Range> ranges;
  std::unordered_map<std::string, Kernel> kernels; ///< by entry
  std::set<void *> shared;                         ///< by allocateShared
  Launches launched;                               ///< since the last wait
  std::optional<Launches> recording;
};

} // namespace dsflash::cuda

#endif // DSFLASH_RUNTIME_CUDA_CUDADEVICE_H
