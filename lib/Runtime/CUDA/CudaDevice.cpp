//===- CudaDevice.cpp - One GPU behind the device ABI ---------------------===//

#include "CudaDevice.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <memory>

using namespace dsflash;
using namespace dsflash::cuda;

static constexpr int64_t kMaxBlocks = 0x7fffffff;

Status CudaDevice::check(const std::string &call, CUresult code) const {
  if (code == CUDA_SUCCESS)
    return Status();
  return Status::error(call + (name.empty() ? "" : " on " + name),
                       driver.describe(code));
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  (void)wait();
  for (auto &[begin, range] : ranges)
    (void)releaseRange(begin, range);
  for (void *memory : shared)
    driver.cuMemFreeHost(memory);
  if (module)
    driver.cuModuleUnload(module);
  for (auto &[number, event] : events)
    driver.cuEventDestroy(event);
  for (CUstream made : {prefetches, stream})
    if (made)
      driver.cuStreamDestroy(made);
  driver.cuDevicePrimaryCtxRelease(device);
}

Status CudaDevice::load(const dsf_module *module,
                        const dsf_device_code **chosen) {
  if (Status status = openDevice(); !status)
    return status;
  *chosen = choose(*module);
  if (*chosen)
    return loadCode(**chosen);
  std::string targets;
  for (int64_t i = 0; i < module->code_count; ++i)
    targets.append(i ? ", " : "").append(module->codes[i].target);
  return Status::error(name, "no kernel image for this device; the model was "
                             "compiled for " +
                                 targets);
}

Status CudaDevice::openDevice() {
  if (!std::all_of(ordinal.begin(), ordinal.end(),
                   [](unsigned char c) { return std::isdigit(c); }) ||
      ordinal.size() > 3)
    return Status::error("'" + ordinal + "'", "not the number of a device");
  int number = ordinal.empty() ? 0 : std::stoi(ordinal);
  Result<Driver> loaded = Driver::load();
  if (!loaded)
    return loaded.status();
  driver = *loaded;
  if (Status status = check("cuInit", driver.cuInit(0)); !status)
    return status;
  int count = 0;
  if (Status status =
          check("cuDeviceGetCount", driver.cuDeviceGetCount(&count));
      !status)
    return status;
  if (number >= count)
    return Status::error("device " + std::to_string(number),
                         "there are " + std::to_string(count));
  if (Status status = check("cuDeviceGet", driver.cuDeviceGet(&device, number));
      !status)
    return status;

  char product[128] = "";
  int major = 0, minor = 0;
  CUmemoryPool pool = nullptr;
  uint64_t keepAll = UINT64_MAX;
  CUmemAllocationProp properties;
  properties.location.id = device;
  struct {
    const char *call;
    CUresult code;
  } const steps[] = {
      {"cuDeviceGetName",
       driver.cuDeviceGetName(product, sizeof(product), device)},
      {"cuDeviceGetAttribute",
       driver.cuDeviceGetAttribute(
           &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)},
      {"cuDeviceGetAttribute",
       driver.cuDeviceGetAttribute(
           &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)},
      {"cuDevicePrimaryCtxRetain",
       driver.cuDevicePrimaryCtxRetain(&context, device)},
      {"cuCtxSetCurrent", driver.cuCtxSetCurrent(context)},
      {"cuStreamCreate",
       driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)},
      {"cuDeviceGetDefaultMemPool",
       driver.cuDeviceGetDefaultMemPool(&pool, device)},
      {"cuMemPoolSetAttribute",
       driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                    &keepAll)},
      {"cuMemGetAllocationGranularity",
       driver.cuMemGetAllocationGranularity(&granularity, &properties,
                                            CU_MEM_ALLOC_GRANULARITY_MINIMUM)}};
  for (const auto &step : steps)
    if (Status status = check(step.call, step.code); !status)
      return status;
  capability = major * 10 + minor;
  name = std::string(product) + " (sm_" + std::to_string(capability) + ")";
  return Status();
}

/// "nvptx:sm_90a": 90, and whether it is meant for this capability alone.
static std::pair<int, bool> parseTarget(const std::string &target) {
  size_t digits = target.find("sm_");
  if (digits == target.npos)
    return {INT_MAX, false};
  return {std::atoi(target.c_str() + digits + 3), target.back() == 'a'};
}

const dsf_device_code *CudaDevice::choose(const dsf_module &module) const {
  const dsf_device_code *best = nullptr;
  int bestChip = -1;
  for (int64_t i = 0; i < module.code_count; ++i) {
    auto [chip, exact] = parseTarget(module.codes[i].target);
    bool runs = exact ? chip == capability : chip <= capability;
    if (!runs || chip <= bestChip)
      continue;
    best = &module.codes[i];
    bestChip = chip;
  }
  return best;
}

Status CudaDevice::loadCode(const dsf_device_code &code) {
  // A cubin runs on the chips of its own generation.
  bool fits = parseTarget(code.target).first / 10 == capability / 10;
  if (code.cubin && fits)
    return loadImage(std::string("cubin for ") + code.target, code.cubin);
  return loadImage(std::string("PTX for ") + code.target, code.ptx);
}

Status CudaDevice::loadImage(const std::string &what, const void *image) {
  char log[8192] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  Status status = check(
      what, driver.cuModuleLoadDataEx(&module, image, 2, options, values));
  if (!status && *log)
    status.add("PTX compiler of the driver", log);
  return status;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Result<CudaDevice::Kernel> CudaDevice::findKernel(const dsf_kernel &wanted) {
  auto known = kernels.find(wanted.entry);
  if (known != kernels.end())
    return known->second;
  Kernel kernel;
  Status status =
      check("cuModuleGetFunction",
            driver.cuModuleGetFunction(&kernel.function, module, wanted.entry));
  if (status)
    status = check("cuFuncSetAttribute",
                   driver.cuFuncSetAttribute(
                       kernel.function,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       int(wanted.shared_bytes)));
  if (!status)
    return status;
  size_t offset = 0, bytes = 0;
  for (size_t i = 0; driver.cuFuncGetParamInfo(kernel.function, i, &offset,
                                               &bytes) == CUDA_SUCCESS;
       ++i)
    kernel.parameterBytes = offset + bytes;
  kernels[wanted.entry] = kernel;
  return kernel;
}

Status CudaDevice::launch(const dsf_kernel *entry, int64_t items,
                          const void *arguments, int64_t argumentBytes) {
  Result<Kernel> kernel = findKernel(*entry);
  if (!kernel)
    return kernel.status();
  // The launch's structure may end in padding, the kernel's parameters do not.
  size_t bytes = kernel->parameterBytes;
  if (int64_t(bytes) > argumentBytes)
    return Status::error("its parameters", std::to_string(bytes) +
                                               " bytes, the launch has " +
                                               std::to_string(argumentBytes));
  void *extra[] = {reinterpret_cast<void *>(CU_LAUNCH_PARAM_BUFFER_POINTER),
                   const_cast<void *>(arguments),
                   reinterpret_cast<void *>(CU_LAUNCH_PARAM_BUFFER_SIZE),
                   &bytes, reinterpret_cast<void *>(CU_LAUNCH_PARAM_END)};
  int64_t blocks =
      (items + entry->items_per_block - 1) / entry->items_per_block;
  auto grid = unsigned(std::min(blocks, kMaxBlocks));
  (recording ? *recording : launched).add({entry->name, entry->name, 1});
  return check("cuLaunchKernel",
               driver.cuLaunchKernel(kernel->function, grid, 1, 1,
                                     entry->threads, 1, 1, entry->shared_bytes,
                                     stream, nullptr, extra));
}

Status CudaDevice::wait() {
  Status status =
      check("cuStreamSynchronize", driver.cuStreamSynchronize(stream));
  if (!status && launched.count)
    status.add("one of " + std::to_string(launched.count) + " kernels",
               "the first was '" + launched.first + "', the last '" +
                   launched.last + "'; CUDA_LAUNCH_BLOCKING=1 tells which");
  launched = {};
  status.add(waitForPrefetches());
  return status;
}

Status CudaDevice::waitForPrefetches() {
  if (!prefetches)
    return Status();
  return check("cuStreamSynchronize of prefetches",
               driver.cuStreamSynchronize(prefetches));
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Status CudaDevice::beginRecording(int32_t *begun) {
  // The driver would not wait for a launch of a graph.
  if (!driver.hasGraphs() || std::getenv("CUDA_LAUNCH_BLOCKING"))
    return Status();
  Status status = check(
      "cuStreamBeginCapture",
      driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (status)
    recording.emplace();
  *begun = status.ok();
  return status;
}

Status CudaDevice::endRecording(void **recorded) {
  Launches launches = std::move(*recording);
  recording.reset();
  CUgraph graph = nullptr;
  Status status =
      check("cuStreamEndCapture", driver.cuStreamEndCapture(stream, &graph));
  if (!status)
    return status;
  CUgraphExec exec = nullptr;
  status = check("cuGraphInstantiateWithFlags",
                 driver.cuGraphInstantiateWithFlags(&exec, graph, 0));
  // What was instantiated is a copy.
  status.add(check("cuGraphDestroy", driver.cuGraphDestroy(graph)));
  if (status)
    *recorded = new Graph{exec, std::move(launches)};
  return status;
}

Status CudaDevice::replay(void *recorded) {
  auto *graph = static_cast<Graph *>(recorded);
  launched.add(graph->launches);
  return check("cuGraphLaunch of " + std::to_string(graph->launches.count) +
                   " kernels, '" + graph->launches.first + "' to '" +
                   graph->launches.last + "',",
               driver.cuGraphLaunch(graph->exec, stream));
}

Status CudaDevice::releaseRecording(void *recorded) {
  std::unique_ptr<Graph> graph(static_cast<Graph *>(recorded));
  return check("cuGraphExecDestroy", driver.cuGraphExecDestroy(graph->exec));
}
