//===- CudaMemory.cpp - Memory of a GPU, copies and prefetches ------------===//

#include "CudaDevice.h"

#include <algorithm>

using namespace dsflash;
using namespace dsflash::cuda;

static CUdeviceptr toDevice(const void *address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

static void *toPointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

Status CudaDevice::allocate(const char *, int64_t bytes, uint32_t,
                            void **address) {
  CUdeviceptr memory = 0;
  Status status =
      check("cuMemAllocAsync of " + std::to_string(bytes) + " bytes",
            driver.cuMemAllocAsync(&memory, size_t(std::max<int64_t>(bytes, 1)),
                                   stream));
  *address = toPointer(memory);
  return status;
}

/// Pinned; one address space.
Status CudaDevice::allocateShared(const char *, int64_t bytes, void **address) {
  Status status =
      check("cuMemHostAlloc of " + std::to_string(bytes) + " bytes",
            driver.cuMemHostAlloc(address, size_t(std::max<int64_t>(bytes, 1)),
                                  CU_MEMHOSTALLOC_PORTABLE));
  if (status)
    shared.insert(*address);
  return status;
}

Status CudaDevice::reserve(const char *, int64_t bytes, void **address) {
  size_t size = (size_t(bytes) + granularity - 1) / granularity * granularity;
  CUdeviceptr begin = 0;
  Status status =
      check("cuMemAddressReserve of " + std::to_string(size) + " bytes",
            driver.cuMemAddressReserve(&begin, size, 0, 0, 0));
  if (status)
    ranges[begin] = {size, {}};
  *address = toPointer(begin);
  return status;
}

Status CudaDevice::commit(void *address, int64_t offset, int64_t bytes) {
  auto begin = toDevice(address);
  Range &range = ranges.at(begin);
  size_t at = size_t(offset) / granularity * granularity;
  size_t end = size_t(offset + bytes);
  while (at < end) {
    auto next = range.parts.upper_bound(at);
    if (next != range.parts.begin()) {
      auto [before, size] = *std::prev(next);
      if (at < before + size) {
        at = before + size;
        continue;
      }
    }
    size_t stop = (end + granularity - 1) / granularity * granularity;
    if (next != range.parts.end())
      stop = std::min(stop, next->first);
    if (Status status = addPart(begin, range, at, stop - at); !status)
      return status;
    at = stop;
  }
  return Status();
}

Status CudaDevice::addPart(CUdeviceptr begin, Range &range, size_t offset,
                           size_t bytes) {
  CUmemAllocationProp properties;
  properties.location.id = device;
  CUmemGenericAllocationHandle handle = 0;
  Status status = check("cuMemCreate of " + std::to_string(bytes) + " bytes",
                        driver.cuMemCreate(&handle, bytes, &properties, 0));
  if (!status)
    return status;
  status =
      check("cuMemMap", driver.cuMemMap(begin + offset, bytes, 0, handle, 0));
  if (status) {
    range.parts[offset] = bytes;
    CUmemAccessDesc access;
    access.location.id = device;
    status = check("cuMemSetAccess",
                   driver.cuMemSetAccess(begin + offset, bytes, &access, 1));
  }
  // The mapping keeps the memory.
  status.add(check("cuMemRelease", driver.cuMemRelease(handle)));
  if (status)
    status = check("cuMemsetD8Async",
                   driver.cuMemsetD8Async(begin + offset, 0, bytes, stream));
  return status;
}

Status CudaDevice::releaseRange(CUdeviceptr begin, Range &range) {
  Status status;
  for (auto [offset, bytes] : range.parts)
    status.add(check("cuMemUnmap", driver.cuMemUnmap(begin + offset, bytes)));
  status.add(
      check("cuMemAddressFree", driver.cuMemAddressFree(begin, range.bytes)));
  return status;
}

Status CudaDevice::release(void *address) {
  auto begin = toDevice(address);
  auto range = ranges.find(begin);
  bool isShared = shared.erase(address);
  if (range == ranges.end() && !isShared) {
    Status status = waitForPrefetches();
    status.add(check("cuMemFreeAsync", driver.cuMemFreeAsync(begin, stream)));
    return status;
  }
  Status status = wait();
  if (isShared) {
    status.add(check("cuMemFreeHost", driver.cuMemFreeHost(address)));
    return status;
  }
  status.add(releaseRange(begin, range->second));
  ranges.erase(range);
  return status;
}

/// One address space: the driver knows which side an address is on. It is done
/// with pageable memory of the host when the call returns.
Status CudaDevice::copy(void *to, const void *from, int64_t bytes) {
  if (bytes == 0)
    return Status();
  return check("cuMemcpyAsync of " + std::to_string(bytes) + " bytes",
               driver.cuMemcpyAsync(toDevice(to), toDevice(from), size_t(bytes),
                                    stream));
}

Status CudaDevice::prefetch(int64_t number, dsf_fill fill, void *context,
                            void *to, const void *from, int64_t bytes) {
  Status status;
  if (!prefetches)
    status = check("cuStreamCreate",
                   driver.cuStreamCreate(&prefetches, CU_STREAM_NON_BLOCKING));
  CUevent &event = events[number];
  if (status && !event)
    status = check("cuEventCreate",
                   driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (status)
    status = check("cuLaunchHostFunc",
                   driver.cuLaunchHostFunc(prefetches, fill, context));
  if (status)
    status = check("cuMemcpyAsync of " + std::to_string(bytes) + " bytes",
                   driver.cuMemcpyAsync(toDevice(to), toDevice(from),
                                        size_t(bytes), prefetches));
  if (status)
    status = check("cuEventRecord", driver.cuEventRecord(event, prefetches));
  return status;
}

Status CudaDevice::awaitPrefetch(int64_t number) {
  auto event = events.find(number);
  if (event == events.end())
    return Status();
  return check("cuStreamWaitEvent",
               driver.cuStreamWaitEvent(stream, event->second,
                                        recording ? CU_EVENT_WAIT_EXTERNAL
                                                  : CU_EVENT_WAIT_DEFAULT));
}
