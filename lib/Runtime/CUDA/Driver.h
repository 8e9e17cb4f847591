//===- Driver.h - The CUDA driver, found at run time ------------*- C++ -*-===//
//
// What this library needs of the driver API, declared here so that it builds
// and links without a CUDA toolkit. Names and values are those of cuda.h.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_CUDA_DRIVER_H
#define DSFLASH_RUNTIME_CUDA_DRIVER_H

#include "dsflash/Support/Status.h"

#include <cstddef>
#include <cstdint>

namespace dsflash::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUevent = struct CUevent_st *;
using CUhostFn = void (*)(void *context);
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUmemoryPool = struct CUmemPoolHandle_st *;
using CUmemGenericAllocationHandle = unsigned long long;

constexpr CUresult CUDA_SUCCESS = 0;
constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
constexpr unsigned CU_EVENT_WAIT_DEFAULT = 0, CU_EVENT_WAIT_EXTERNAL = 1;
constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
constexpr int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
constexpr uintptr_t CU_LAUNCH_PARAM_END = 0;
constexpr uintptr_t CU_LAUNCH_PARAM_BUFFER_POINTER = 1;
constexpr uintptr_t CU_LAUNCH_PARAM_BUFFER_SIZE = 2;
constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
constexpr int CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0;
constexpr int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;

struct CUmemLocation {
  int type = CU_MEM_LOCATION_TYPE_DEVICE;
  int id = 0;
};

struct CUmemAllocationProp {
  int type = CU_MEM_ALLOCATION_TYPE_PINNED;
  int requestedHandleTypes = 0;
  CUmemLocation location;
  void *win32HandleMetaData = nullptr;
  unsigned char allocFlags[8] = {};
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
};

/// Those that keep launches as a graph. A driver without them launches one by
/// one.
#define DSFLASH_CUDA_GRAPH_FUNCTIONS(FUNCTION)                                 \
  FUNCTION(cuStreamBeginCapture, (CUstream stream, int mode))                  \
  FUNCTION(cuStreamEndCapture, (CUstream stream, CUgraph * graph))             \
  FUNCTION(cuGraphInstantiateWithFlags,                                        \
           (CUgraphExec * exec, CUgraph graph, unsigned long long flags))      \
  FUNCTION(cuGraphDestroy, (CUgraph graph))                                    \
  FUNCTION(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                 \
  FUNCTION(cuGraphExecDestroy, (CUgraphExec exec))

/// The others, which this library cannot do without.
#define DSFLASH_CUDA_FUNCTIONS(FUNCTION)                                       \
  FUNCTION(cuInit, (unsigned flags))                                           \
  FUNCTION(cuGetErrorName, (CUresult error, const char **text))                \
  FUNCTION(cuGetErrorString, (CUresult error, const char **text))              \
  FUNCTION(cuDeviceGetCount, (int *count))                                     \
  FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))                      \
  FUNCTION(cuDeviceGetName, (char *name, int bytes, CUdevice device))          \
  FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
  FUNCTION(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))   \
  FUNCTION(cuDevicePrimaryCtxRelease, (CUdevice device))                       \
  FUNCTION(cuCtxSetCurrent, (CUcontext context))                               \
  FUNCTION(cuStreamCreate, (CUstream * stream, unsigned flags))                \
  FUNCTION(cuStreamDestroy, (CUstream stream))                                 \
  FUNCTION(cuStreamSynchronize, (CUstream stream))                             \
  FUNCTION(cuStreamWaitEvent,                                                  \
           (CUstream stream, CUevent event, unsigned flags))                   \
  FUNCTION(cuLaunchHostFunc,                                                   \
           (CUstream stream, CUhostFn function, void *context))                \
  FUNCTION(cuEventCreate, (CUevent * event, unsigned flags))                   \
  FUNCTION(cuEventRecord, (CUevent event, CUstream stream))                    \
  FUNCTION(cuEventDestroy, (CUevent event))                                    \
  FUNCTION(cuModuleLoadDataEx,                                                 \
           (CUmodule * module, const void *image, unsigned optionCount,        \
            int *options, void **optionValues))                                \
  FUNCTION(cuModuleUnload, (CUmodule module))                                  \
  FUNCTION(cuModuleGetFunction,                                                \
           (CUfunction * function, CUmodule module, const char *name))         \
  FUNCTION(cuFuncGetParamInfo,                                                 \
           (CUfunction function, size_t index, size_t *offset, size_t *bytes)) \
  FUNCTION(cuFuncSetAttribute,                                                 \
           (CUfunction function, int attribute, int value))                    \
  FUNCTION(cuLaunchKernel,                                                     \
           (CUfunction function, unsigned gridX, unsigned gridY,               \
            unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, \
            unsigned sharedBytes, CUstream stream, void **parameters,          \
            void **extra))                                                     \
  FUNCTION(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))  \
  FUNCTION(cuMemPoolSetAttribute,                                              \
           (CUmemoryPool pool, int attribute, void *value))                    \
  FUNCTION(cuMemAllocAsync,                                                    \
           (CUdeviceptr * address, size_t bytes, CUstream stream))             \
  FUNCTION(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))             \
  FUNCTION(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))     \
  FUNCTION(cuMemFreeHost, (void *address))                                     \
  FUNCTION(cuMemcpyAsync,                                                      \
           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))  \
  FUNCTION(cuMemsetD8Async, (CUdeviceptr address, unsigned char value,         \
                             size_t bytes, CUstream stream))                   \
  FUNCTION(cuMemGetAllocationGranularity,                                      \
           (size_t *granularity, const CUmemAllocationProp *properties,        \
            int option))                                                       \
  FUNCTION(cuMemAddressReserve,                                                \
           (CUdeviceptr * address, size_t bytes, size_t alignment,             \
            CUdeviceptr wanted, unsigned long long flags))                     \
  FUNCTION(cuMemAddressFree, (CUdeviceptr address, size_t bytes))              \
  FUNCTION(cuMemCreate,                                                        \
           (CUmemGenericAllocationHandle * handle, size_t bytes,               \
            const CUmemAllocationProp *properties, unsigned long long flags))  \
  FUNCTION(cuMemRelease, (CUmemGenericAllocationHandle handle))                \
  FUNCTION(cuMemMap,                                                           \
           (CUdeviceptr address, size_t bytes, size_t offset,                  \
            CUmemGenericAllocationHandle handle, unsigned long long flags))    \
  FUNCTION(cuMemUnmap, (CUdeviceptr address, size_t bytes))                    \
  FUNCTION(cuMemSetAccess, (CUdeviceptr address, size_t bytes,                 \
                            const CUmemAccessDesc *access, size_t count))

struct Driver {
  /// Finds libcuda.so.1. Errors: it is not installed, or too old; all functions
  /// that it lacks.
  static Result<Driver> load();

  bool hasGraphs() const;
  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string describe(CUresult error) const;

#define DSFLASH_CUDA_MEMBER(NAME, PARAMETERS)                                  \
  CUresult(*NAME) PARAMETERS = nullptr;
  DSFLASH_CUDA_FUNCTIONS(DSFLASH_CUDA_MEMBER)
  DSFLASH_CUDA_GRAPH_FUNCTIONS(DSFLASH_CUDA_MEMBER)
#undef DSFLASH_CUDA_MEMBER
};

} // namespace dsflash::cuda

#endif // DSFLASH_RUNTIME_CUDA_DRIVER_H
