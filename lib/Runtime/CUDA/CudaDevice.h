//===- CudaDevice.h - One GPU behind the device ABI -------------*- C++ -*-===//
//
// One context and one stream. Nothing waits but `wait`, copies to the host and
// the release of a range.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_CUDA_CUDADEVICE_H
#define DSFLASH_RUNTIME_CUDA_CUDADEVICE_H

#include "Driver.h"
#include "dsflash/ABI/DeviceABI.h"

#include <map>
#include <string>
#include <unordered_map>

namespace dsflash::cuda {

class CudaDevice {
public:
  CudaDevice() = default;
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;
  ~CudaDevice();

  /// `ordinal` is the text of a number; empty: 0.
  Status load(const std::string &ordinal, const dsf_module &module,
              const dsf_device_code **chosen);
  Status allocate(int64_t bytes, void **address);
  Status reserve(int64_t bytes, void **address);
  Status commit(void *address, int64_t offset, int64_t bytes);
  Status release(void *address);
  Status copy(void *to, const void *from, int64_t bytes);
  Status launch(const dsf_kernel &kernel, int64_t items, const void *arguments,
                int64_t argumentBytes);
  Status wait();

private:
  /// A reserved range and the parts of it that have memory, by offset.
  struct Range {
    size_t bytes;
    std::map<size_t, size_t> parts;
  };
  struct Kernel {
    CUfunction function = nullptr;
    size_t parameterBytes = 0;
  };

  Status openDevice(const std::string &ordinal);
  /// The code of a module that this device runs best, or null.
  const dsf_device_code *choose(const dsf_module &module) const;
  Status loadCode(const dsf_device_code &code);
  Status loadImage(const std::string &what, const void *image);
  Result<Kernel> findKernel(const dsf_kernel &entry);
  Status addPart(CUdeviceptr begin, Range &range, size_t offset, size_t bytes);
  Status releaseRange(CUdeviceptr begin, Range &range);
  /// Null status for success; else the call's name, the device and the cause.
  Status check(const std::string &call, CUresult code) const;

  Driver driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  std::string name;   ///< "NVIDIA H200 (sm_90)"
  int capability = 0; ///< 90
  size_t granularity = 0;
  std::map<CUdeviceptr, Range> ranges;
  std::unordered_map<std::string, Kernel> kernels;
  // Since the last wait.
  std::string firstKernel, lastKernel;
  int64_t launches = 0;
};

} // namespace dsflash::cuda

#endif // DSFLASH_RUNTIME_CUDA_CUDADEVICE_H
