//===- FakeDriver.cpp - A libcuda.so.1 without a GPU ----------------------===//
//
// Answers the calls that the CUDA device makes, and runs kernels on the simt
// device with its checks on. As on a GPU nothing is done before somebody waits,
// new memory holds rubbish, and a failure stays. Variables of the environment:
//
//   FAKE_CUDA_CAPABILITY=90        compute capability, 80 without it
//   FAKE_CUDA_FAIL=CALL=CODE[@N]   CALL fails from the N-th time on
//   FAKE_CUDA_LOG=FILE             a line for every call
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/CUDA/Driver.h"
#include "dsflash/Simt/Simt.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sys/mman.h>
#include <unordered_map>

using namespace dsflash;
using namespace dsflash::cuda;

namespace {

constexpr size_t kGranularity = 64 << 10;
constexpr CUresult kInvalidValue = 1, kOutOfMemory = 2, kNoImage = 209,
                   kInvalidPtx = 218, kIllegalAddress = 700,
                   kLaunchFailed = 719, kCaptureUnsupported = 900,
                   kCaptureIsolation = 905;

struct ErrorName {
  CUresult code;
  const char *name, *text;
};
// Of cuda.h.
constexpr ErrorName kErrors[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device is busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kNoImage, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"}};

using Queue = std::vector<std::function<Status()>>;

/// What a second stream has to do, in order, and how much of it is done.
struct Stream {
  Queue work;
  size_t done = 0;

  Status runTo(size_t end) {
    for (; done < end; ++done)
      if (Status status = work[done](); !status)
        return status;
    return Status();
  }
};

/// The work of a stream that was there when it was recorded.
struct Event {
  Stream *stream = nullptr;
  size_t end = 0;

  Status wait() const { return stream ? stream->runTo(end) : Status(); }
};

struct Function {
  simt::KernelInfo info;
  size_t parameterBytes = 0;
  std::vector<size_t> offsets;
};

struct FakeDriver {
  simt::Device device;
  std::optional<simt::Module> module;
  std::unordered_map<std::string, std::unique_ptr<Function>> functions;
  std::map<CUdeviceptr, size_t> memory; ///< allocations, reserved ranges
  Queue queue;
  std::optional<Queue> captured; ///< while the stream is capturing
  std::vector<std::unique_ptr<Stream>> streams; ///< the first has `queue`
  std::unordered_map<std::string, int> calls;
  CUresult failure = CUDA_SUCCESS;

  bool isDevice(CUdeviceptr address) const {
    auto next = memory.upper_bound(address);
    if (next == memory.begin())
      return false;
    auto [begin, bytes] = *std::prev(next);
    return address - begin < bytes;
  }

  CUresult drain() {
    for (std::function<Status()> &work : std::exchange(queue, {})) {
      Status status = failure ? Status() : work();
      if (status)
        continue;
      std::fprintf(stderr, "%s\n", status.str().c_str());
      bool address = status.str().find("out-of-bounds") != std::string::npos;
      failure = address ? kIllegalAddress : kLaunchFailed;
    }
    return failure;
  }
};

FakeDriver &fake() {
  static FakeDriver driver;
  return driver;
}

/// Logs a call; the code that it is to fail with, or one that stays.
CUresult enter(const std::string &call) {
  if (const char *path = std::getenv("FAKE_CUDA_LOG"))
    if (FILE *log = std::fopen(path, "a")) {
      std::fprintf(log, "%s\n", call.c_str());
      std::fclose(log);
    }
  int number = ++fake().calls[call];
  const char *plan = std::getenv("FAKE_CUDA_FAIL");
  std::string wanted = plan ? plan : "";
  size_t equal = std::min(wanted.find('='), wanted.size());
  size_t at = wanted.find('@');
  int first = at == wanted.npos ? 1 : std::stoi(wanted.substr(at + 1));
  if (wanted.substr(0, equal) == call && number >= first)
    return std::stoi(wanted.substr(equal + 1));
  bool captures = call == "cuLaunchKernel" || call == "cuStreamEndCapture" ||
                  call == "cuStreamWaitEvent" ||
                  call.rfind("cuModule", 0) == 0 ||
                  call.rfind("cuFunc", 0) == 0;
  if (fake().captured && !captures)
    return kCaptureUnsupported;
  return fake().failure;
}

int capability() {
  const char *text = std::getenv("FAKE_CUDA_CAPABILITY");
  return text ? std::atoi(text) : 80;
}

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

const ErrorName *findError(CUresult code) {
  for (const ErrorName &error : kErrors)
    if (error.code == code)
      return &error;
  return nullptr;
}

/// Takes PTX text, or what tests use for a cubin: the magic number of ELF, the
/// architecture, a line end, PTX.
CUresult loadImage(const char *image, std::string &log) {
  std::string target;
  bool isCubin = std::strncmp(image,
                              "\x7f"
                              "ELF",
                              4) == 0;
  if (isCubin) {
    const char *end = std::strchr(image + 4, '\n');
    if (!end)
      return kNoImage;
    target.assign(image + 4, end);
    image = end + 1;
  } else if (const char *line = std::strstr(image, ".target ")) {
    target.assign(line + 8, std::strcspn(line + 8, ", \n"));
  }
  int built = target.size() > 3 ? std::atoi(target.c_str() + 3) : 0;
  bool exact = !target.empty() && target.back() == 'a';
  bool fits = exact ? built == capability()
              : isCubin
                  ? built / 10 == capability() / 10 && built <= capability()
                  : built <= capability();
  if (!fits)
    return kNoImage;
  auto loaded = simt::Module::load(fake().device, image, "image");
  if (!loaded) {
    log = loaded.status().str();
    return kInvalidPtx;
  }
  fake().module = std::move(*loaded);
  return CUDA_SUCCESS;
}

bool isFirst(CUstream stream) {
  return reinterpret_cast<Stream *>(stream) == fake().streams.front().get();
}

/// What the checks do not let through.
void poison(CUdeviceptr address, size_t bytes) {
  std::memset(pointer(address), 0xff, bytes);
}

} // namespace

extern "C" {

CUresult cuInit(unsigned) { return enter("cuInit"); }

CUresult cuGetErrorName(CUresult code, const char **text) {
  const ErrorName *error = findError(code);
  *text = error ? error->name : nullptr;
  return error ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
  const ErrorName *error = findError(code);
  *text = error ? error->text : nullptr;
  return error ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return enter("cuDeviceGetCount");
}

CUresult cuDeviceGet(CUdevice *device, int) {
  *device = 0;
  return enter("cuDeviceGet");
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
  std::snprintf(name, size_t(bytes), "Fake GPU");
  return enter("cuDeviceGetName");
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  bool isMajor = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
  *value = isMajor ? capability() / 10 : capability() % 10;
  return enter("cuDeviceGetAttribute");
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&fake());
  return enter("cuDevicePrimaryCtxRetain");
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  // The next context starts without what went wrong in this one.
  fake().queue.clear();
  fake().captured.reset();
  fake().streams.clear();
  fake().functions.clear();
  fake().calls.clear();
  fake().failure = CUDA_SUCCESS;
  return enter("cuDevicePrimaryCtxRelease");
}

CUresult cuCtxSetCurrent(CUcontext) { return enter("cuCtxSetCurrent"); }

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  if (CUresult code = enter("cuStreamCreate"))
    return code;
  fake().streams.push_back(std::make_unique<Stream>());
  *stream = reinterpret_cast<CUstream>(fake().streams.back().get());
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream) { return enter("cuStreamDestroy"); }

CUresult cuStreamSynchronize(CUstream handle) {
  if (CUresult code = enter("cuStreamSynchronize"))
    return code;
  if (isFirst(handle))
    return fake().drain();
  auto *stream = reinterpret_cast<Stream *>(handle);
  return stream->runTo(stream->work.size()) ? CUDA_SUCCESS : kLaunchFailed;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(new Event);
  return enter("cuEventCreate");
}

CUresult cuEventDestroy(CUevent event) {
  delete reinterpret_cast<Event *>(event);
  return enter("cuEventDestroy");
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  auto *of = reinterpret_cast<Stream *>(stream);
  *reinterpret_cast<Event *>(handle) = {of, of->work.size()};
  return enter("cuEventRecord");
}

CUresult cuStreamWaitEvent(CUstream, CUevent handle, unsigned flags) {
  if (CUresult code = enter("cuStreamWaitEvent"))
    return code;
  auto *event = reinterpret_cast<Event *>(handle);
  if (!fake().captured)
    fake().queue.push_back([event = *event] { return event.wait(); });
  else if (flags == CU_EVENT_WAIT_EXTERNAL)
    fake().captured->push_back([event] { return event->wait(); });
  else
    return kCaptureIsolation;
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *context) {
  if (CUresult code = enter("cuLaunchHostFunc"))
    return code;
  reinterpret_cast<Stream *>(stream)->work.push_back([=] {
    function(context);
    return Status();
  });
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            int *options, void **values) {
  if (CUresult code = enter("cuModuleLoadDataEx"))
    return code;
  std::string log;
  CUresult code = loadImage(static_cast<const char *>(image), log);
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      std::strcpy(static_cast<char *>(values[i]), log.c_str());
  *module = reinterpret_cast<CUmodule>(&fake().module);
  return code;
}

CUresult cuModuleUnload(CUmodule) {
  fake().module.reset();
  return enter("cuModuleUnload");
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  if (CUresult code = enter("cuModuleGetFunction"))
    return code;
  const simt::KernelInfo *info = fake().module->kernel(name);
  if (!info)
    return CUDA_ERROR_NOT_FOUND;
  auto made = std::make_unique<Function>();
  made->info = *info;
  for (const simt::Parameter &parameter : info->parameters) {
    size_t alignment = parameter.alignment;
    size_t offset =
        (made->parameterBytes + alignment - 1) / alignment * alignment;
    made->offsets.push_back(offset);
    made->parameterBytes = offset + parameter.bytes;
  }
  *function = reinterpret_cast<CUfunction>(made.get());
  fake().functions[name] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset,
                            size_t *bytes) {
  auto *function = reinterpret_cast<Function *>(handle);
  if (index >= function->offsets.size())
    return kInvalidValue;
  *offset = function->offsets[index];
  *bytes = function->info.parameters[index].bytes;
  return enter("cuFuncGetParamInfo");
}

CUresult cuFuncSetAttribute(CUfunction, int, int) {
  return enter("cuFuncSetAttribute");
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream,
                        void **, void **extra) {
  if (CUresult code = enter("cuLaunchKernel"))
    return code;
  auto *function = reinterpret_cast<Function *>(handle);
  if (*static_cast<size_t *>(extra[3]) != function->parameterBytes ||
      gridX * gridY * gridZ == 0)
    return kInvalidValue;
  auto *bytes = static_cast<const char *>(extra[1]);
  std::vector<char> parameters(bytes, bytes + function->parameterBytes);
  auto &queue = fake().captured ? *fake().captured : fake().queue;
  queue.push_back([=] {
    std::vector<const void *> pointers;
    for (size_t offset : function->offsets)
      pointers.push_back(parameters.data() + offset);
    return fake().module->launch(function->info.name, {gridX, gridY, gridZ},
                                 {blockX, blockY, blockZ}, sharedBytes,
                                 pointers.data());
  });
  return std::getenv("CUDA_LAUNCH_BLOCKING") ? fake().drain() : CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream, int) {
  if (CUresult code = enter("cuStreamBeginCapture"))
    return code;
  fake().captured.emplace();
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream, CUgraph *graph) {
  CUresult code = enter("cuStreamEndCapture");
  if (!code)
    *graph = reinterpret_cast<CUgraph>(new Queue(*fake().captured));
  fake().captured.reset();
  return code;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long) {
  if (CUresult code = enter("cuGraphInstantiateWithFlags"))
    return code;
  *exec = reinterpret_cast<CUgraphExec>(
      new Queue(*reinterpret_cast<Queue *>(graph)));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Queue *>(graph);
  return enter("cuGraphDestroy");
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete reinterpret_cast<Queue *>(exec);
  return enter("cuGraphExecDestroy");
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  if (CUresult code = enter("cuGraphLaunch"))
    return code;
  const Queue &kernels = *reinterpret_cast<Queue *>(exec);
  fake().queue.insert(fake().queue.end(), kernels.begin(), kernels.end());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice) {
  *pool = reinterpret_cast<CUmemoryPool>(&fake().memory);
  return enter("cuDeviceGetDefaultMemPool");
}

CUresult cuMemPoolSetAttribute(CUmemoryPool, int, void *) {
  return enter("cuMemPoolSetAttribute");
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream) {
  if (CUresult code = enter("cuMemAllocAsync"))
    return code;
  Result<uint64_t> memory = fake().device.allocate(bytes, "memory");
  if (!memory)
    return kOutOfMemory;
  *address = *memory;
  fake().memory[*memory] = bytes;
  poison(*memory, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  if (CUresult code = enter("cuMemHostAlloc"))
    return code;
  Result<uint64_t> memory = fake().device.allocate(bytes, "shared memory");
  if (!memory)
    return kOutOfMemory;
  *address = pointer(*memory);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
  if (CUresult code = enter("cuMemFreeHost"))
    return code;
  auto memory = reinterpret_cast<CUdeviceptr>(address);
  return fake().device.release(memory).ok() ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
  if (CUresult code = enter("cuMemFreeAsync"))
    return code;
  fake().queue.push_back([=] {
    fake().memory.erase(address);
    return fake().device.release(address);
  });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
  if (CUresult code = enter("cuMemcpyAsync"))
    return code;
  if (!isFirst(stream)) {
    reinterpret_cast<Stream *>(stream)->work.push_back([=] {
      if (!fake().isDevice(to)) {
        std::fprintf(stderr, "a copy to memory that was freed before\n");
        std::abort();
      }
      std::memcpy(pointer(to), pointer(from), bytes);
      return Status();
    });
    return CUDA_SUCCESS;
  }
  if (!fake().isDevice(to)) {
    CUresult code = fake().drain();
    if (!code)
      std::memcpy(pointer(to), pointer(from), bytes);
    return code;
  }
  std::vector<char> staged;
  if (!fake().isDevice(from)) {
    auto *data = static_cast<const char *>(pointer(from));
    staged.assign(data, data + bytes);
  }
  fake().queue.push_back([=, staged = std::move(staged)] {
    std::memcpy(pointer(to), staged.empty() ? pointer(from) : staged.data(),
                bytes);
    return Status();
  });
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes,
                         CUstream) {
  if (CUresult code = enter("cuMemsetD8Async"))
    return code;
  fake().queue.push_back([=] {
    std::memset(pointer(address), value, bytes);
    return Status();
  });
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity,
                                       const CUmemAllocationProp *, int) {
  *granularity = kGranularity;
  return enter("cuMemGetAllocationGranularity");
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t,
                             CUdeviceptr, unsigned long long) {
  if (CUresult code = enter("cuMemAddressReserve"))
    return code;
  void *range = mmap(nullptr, bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED || bytes % kGranularity)
    return kInvalidValue;
  *address = reinterpret_cast<CUdeviceptr>(range);
  fake().memory[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  fake().memory.erase(address);
  munmap(pointer(address), bytes);
  return enter("cuMemAddressFree");
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *, unsigned long long) {
  *handle = bytes;
  return enter("cuMemCreate");
}

CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  return enter("cuMemRelease");
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  if (CUresult code = enter("cuMemMap"))
    return code;
  bool fits = handle == bytes && bytes % kGranularity == 0;
  return fits && fake().isDevice(address) ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                        const CUmemAccessDesc *, size_t) {
  if (CUresult code = enter("cuMemSetAccess"))
    return code;
  mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE);
  poison(address, bytes);
  bool known =
      fake().device.mapHost(pointer(address), bytes, true, "session").ok();
  return known ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t) {
  if (CUresult code = enter("cuMemUnmap"))
    return code;
  return fake().device.release(address).ok() ? CUDA_SUCCESS : kInvalidValue;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                             int *) {
#define FAKE_CUDA_ENTRY(NAME, PARAMETERS)                                      \
  {#NAME, reinterpret_cast<void *>(NAME)},
  static const std::unordered_map<std::string, void *> known = {
      DSFLASH_CUDA_FUNCTIONS(FAKE_CUDA_ENTRY)
          DSFLASH_CUDA_GRAPH_FUNCTIONS(FAKE_CUDA_ENTRY)};
#undef FAKE_CUDA_ENTRY
  auto found = known.find(symbol);
  *function = found == known.end() ? nullptr : found->second;
  CUresult code = enter(std::string("cuGetProcAddress:") + symbol);
  return *function ? code : CUDA_ERROR_NOT_FOUND;
}

} // extern "C"
