//===- CudaDeviceTest.cpp - The CUDA device on a fake driver --------------===//

#include "dsflash/Runtime/Device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

using namespace dsflash;

namespace {

/// `count` stores its number of items where its call's address points, `past`
/// does so a page further on; `blocks` counts its blocks there, `increment`
/// adds 1 to every 64th word of a mebibyte.
constexpr const char *kCode = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 a, .param .u64 b, .param .u32 c)
{
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [a];
	ld.param.b64 %rd2, [b];
	st.global.b64 [%rd1], %rd2;
	ret;
}
.visible .entry past(.param .u64 a, .param .u64 b, .param .u32 c)
{
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [a];
	ld.param.b64 %rd2, [b];
	st.global.b64 [%rd1+4096], %rd2;
	ret;
}
.visible .entry blocks(.param .u64 a, .param .u64 b, .param .u32 c)
{
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [a];
	red.global.add.u64 [%rd1], 1;
	ret;
}
.visible .entry increment(.param .u64 a, .param .u64 b, .param .u32 c)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [a];
	mov.u32 %r1, %tid.x;
again:
	mul.wide.u32 %rd2, %r1, 256;
	add.s64 %rd2, %rd1, %rd2;
	ld.global.b32 %r2, [%rd2];
	add.s32 %r2, %r2, 1;
	st.global.b32 [%rd2], %r2;
	add.s32 %r1, %r1, 256;
	setp.lt.u32 %p1, %r1, 4096;
	@%p1 bra again;
	ret;
}
)";

/// As a launch packs them: 24 bytes, of which the kernel takes 20.
struct Arguments {
  void *call;
  int64_t items;
  int32_t last;
};

class CudaDevice : public testing::Test {
protected:
  void SetUp() override {
    // Found by its name from now on, before any other libcuda.so.1.
    ASSERT_NE(dlopen(FAKE_CUDA, RTLD_NOW), nullptr) << dlerror();
    setCodes({{"nvptx:sm_80", kCode, nullptr, 0}});
    module.kernels = kernels;
    module.kernel_count = std::size(kernels);
    log = testing::TempDir() + "fake-cuda-" + std::to_string(getpid());
  }
  void TearDown() override {
    for (const char *name : {"FAKE_CUDA_FAIL", "FAKE_CUDA_CAPABILITY",
                             "FAKE_CUDA_LOG", "CUDA_LAUNCH_BLOCKING"})
      unsetenv(name);
    std::remove(log.c_str());
  }

  void setCodes(std::vector<dsf_device_code> list) {
    codes = std::move(list);
    module.codes = codes.data();
    module.code_count = int64_t(codes.size());
  }
  void open() {
    Result<std::unique_ptr<Device>> opened = Device::open("cuda", module);
    ASSERT_TRUE(bool(opened)) << opened.status().str();
    device = std::move(*opened);
  }
  /// What Device::open says.
  std::string openFault(const char *spec = "cuda") {
    Result<std::unique_ptr<Device>> opened = Device::open(spec, module);
    return opened ? "" : opened.status().str();
  }
  DeviceBuffer allocate(int64_t bytes) {
    Result<DeviceBuffer> memory =
        device->allocate("memory", bytes, DSF_READ_WRITE);
    EXPECT_TRUE(bool(memory)) << memory.status().str();
    return memory ? std::move(*memory) : DeviceBuffer();
  }
  void launch(int32_t kernel, const DeviceBuffer &memory, int64_t items) {
    Arguments arguments{memory.data(), items, 7};
    device->launch(kernel, items, &arguments, sizeof(arguments));
  }
  int64_t read(const DeviceBuffer &memory) {
    int64_t value = 0;
    EXPECT_TRUE(device->copy(&value, memory.data(), sizeof(value)).ok());
    return value;
  }
  /// Times that a driver function was called.
  int64_t calls(const std::string &name) {
    std::ifstream file(log);
    int64_t count = 0;
    for (std::string line; std::getline(file, line);)
      count += line == name;
    return count;
  }

  static constexpr dsf_kernel kernels[] = {
      {"count", 1, 0, 1 << 20, "count", nullptr, 0},
      {"past", 1, 0, 1 << 20, "past", nullptr, 0},
      {"missing", 1, 0, 1, "missing", nullptr, 0},
      {"blocks", 1, 0, 1, "blocks", nullptr, 0},
      {"increment", 256, 0, 256, "increment", nullptr, 0}};
  dsf_module module{};
  std::vector<dsf_device_code> codes;
  std::string log;
  std::unique_ptr<Device> device;
};

TEST_F(CudaDevice, KernelsRunInOrder) {
  open();
  DeviceBuffer memory = allocate(8);
  launch(0, memory, 3);
  launch(0, memory, 4);
  EXPECT_EQ(device->wait().str(), "");
  EXPECT_EQ(read(memory), 4);
}

// Case 38.
TEST_F(CudaDevice, ALaunchWaitsForNothing) {
  open();
  DeviceBuffer memory = allocate(8);
  setenv("FAKE_CUDA_LOG", log.c_str(), 1);
  for (int64_t i = 1; i <= 5; ++i)
    launch(0, memory, i);
  EXPECT_EQ(calls("cuLaunchKernel"), 5);
  EXPECT_EQ(calls("cuStreamSynchronize"), 0);
  EXPECT_EQ(device->wait().str(), "");
  EXPECT_EQ(calls("cuStreamSynchronize"), 1);
}

// Case 36: more blocks than y or z may have.
TEST_F(CudaDevice, ManyBlocks) {
  open();
  DeviceBuffer memory = allocate(8);
  int64_t zero = 0;
  EXPECT_TRUE(device->copy(memory.data(), &zero, 8).ok());
  launch(3, memory, 70000);
  EXPECT_EQ(device->wait().str(), "");
  EXPECT_EQ(read(memory), 70000);
}

// Case 41: what is copied is there before a kernel adds to it in place.
TEST_F(CudaDevice, CopiesAndKernelsKeepTheirOrder) {
  open();
  constexpr size_t words = 1 << 18;
  DeviceBuffer memory = allocate(words * 4);
  for (int32_t repeat = 0; repeat < 100; ++repeat) {
    std::vector<int32_t> in(words, repeat), out(words);
    ASSERT_TRUE(device->copy(memory.data(), in.data(), words * 4).ok());
    std::fill(in.begin(), in.end(), -1); // the host's memory is free again
    launch(4, memory, 256);
    launch(4, memory, 256);
    ASSERT_TRUE(device->copy(out.data(), memory.data(), words * 4).ok());
    std::vector<int32_t> expected(words, repeat);
    for (size_t i = 0; i < words; i += 64)
      expected[i] += 2;
    ASSERT_EQ(out, expected) << repeat;
  }
}

TEST_F(CudaDevice, RangesAreZeroWhereTheyAreCommitted) {
  open();
  constexpr int64_t part = 64 << 10;
  Result<DeviceBuffer> range = device->reserve("session", 10 * part);
  ASSERT_TRUE(bool(range)) << range.status().str();
  auto *begin = static_cast<char *>(range->data());
  int64_t value = 5;
  // Overlapping parts, the last one in between.
  for (int64_t first : {0, 4, 1}) {
    ASSERT_EQ(device->commit(*range, first * part + 8, 3 * part).str(), "");
    EXPECT_TRUE(device->copy(&value, begin + (first + 2) * part, 8).ok());
    EXPECT_EQ(value, 0);
    value = first + 1;
    EXPECT_TRUE(device->copy(begin + first * part, &value, 8).ok());
  }
  EXPECT_TRUE(device->copy(&value, begin, 8).ok());
  EXPECT_EQ(value, 1);
}

//===----------------------------------------------------------------------===//
// Recorded launches
//===----------------------------------------------------------------------===//

// Kept launches run when they are replayed, on what is in memory then.
TEST_F(CudaDevice, RecordedLaunchesAreOneGraph) {
  open();
  DeviceBuffer memory = allocate(8);
  auto set = [&](int64_t value) {
    EXPECT_TRUE(device->copy(memory.data(), &value, 8).ok());
  };
  set(0);
  launch(3, memory, 1);
  ASSERT_TRUE(device->beginRecording());
  launch(3, memory, 10);
  launch(3, memory, 100);
  DeviceRecording recording = device->endRecording();
  ASSERT_TRUE(bool(recording));
  EXPECT_EQ(read(memory), 1) << "nothing runs while it is recorded";
  setenv("FAKE_CUDA_LOG", log.c_str(), 1);
  for (int64_t step = 1; step <= 20; ++step) {
    set(1000 * step);
    device->replay(recording);
    EXPECT_EQ(device->wait().str(), "");
    EXPECT_EQ(read(memory), 1000 * step + 110);
  }
  EXPECT_EQ(calls("cuGraphLaunch"), 20);
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  recording = DeviceRecording();
  EXPECT_EQ(calls("cuGraphExecDestroy"), 1);
}

TEST_F(CudaDevice, ADriverWithoutGraphsLaunches) {
  for (const char *plan : {"cuGetProcAddress:cuStreamBeginCapture=500",
                           "cuGetProcAddress:cuGraphLaunch=500"}) {
    setenv("FAKE_CUDA_FAIL", plan, 1);
    device.reset();
    open();
    DeviceBuffer memory = allocate(8);
    EXPECT_FALSE(device->beginRecording());
    launch(0, memory, 3);
    EXPECT_EQ(device->wait().str(), "");
    EXPECT_EQ(read(memory), 3);
  }
}

// A driver that waits behind each launch cannot wait inside of a graph.
TEST_F(CudaDevice, BlockingLaunchesAreNotRecorded) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  open();
  EXPECT_FALSE(device->beginRecording());
  EXPECT_EQ(device->wait().str(), "");
}

TEST_F(CudaDevice, FailedRecordings) {
  const std::string recorded = "cuda: recording of kernels for nvptx:sm_80: ";
  for (const auto &[call, fault] :
       {std::pair("cuStreamBeginCapture",
                  recorded + "cuStreamBeginCapture on Fake GPU (sm_80): "),
        std::pair("cuLaunchKernel",
                  std::string("kernel 'count' for nvptx:sm_80: cuLaunchKernel "
                              "on Fake GPU (sm_80): ")),
        std::pair("cuStreamEndCapture",
                  recorded + "cuStreamEndCapture on Fake GPU (sm_80): "),
        std::pair("cuGraphInstantiateWithFlags",
                  recorded +
                      "cuGraphInstantiateWithFlags on Fake GPU (sm_80): "),
        std::pair("cuGraphDestroy",
                  recorded + "cuGraphDestroy on Fake GPU (sm_80): "),
        std::pair("cuGraphLaunch",
                  std::string("cuda: recorded kernels for nvptx:sm_80: "
                              "cuGraphLaunch of 2 kernels, 'count' to "
                              "'blocks', on Fake GPU (sm_80): "))})
    for (const auto &[code, cause] :
         {std::pair("2", "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
          std::pair("801",
                    "CUDA_ERROR_NOT_SUPPORTED: operation not supported")}) {
      unsetenv("FAKE_CUDA_FAIL");
      device.reset();
      open();
      DeviceBuffer memory = allocate(8);
      setenv("FAKE_CUDA_FAIL", (std::string(call) + "=" + code).c_str(), 1);
      bool begun = device->beginRecording();
      launch(0, memory, 1);
      launch(3, memory, 1);
      DeviceRecording recording =
          begun ? device->endRecording() : DeviceRecording();
      if (recording)
        device->replay(recording);
      EXPECT_EQ(device->wait().str(), fault + cause);
    }
}

// Of a graph, too, the first and the last kernel are named.
TEST_F(CudaDevice, LateFailuresOfRecordedLaunches) {
  open();
  DeviceBuffer memory = allocate(8);
  ASSERT_TRUE(device->beginRecording());
  launch(0, memory, 1);
  launch(1, memory, 2);
  DeviceRecording recording = device->endRecording();
  ASSERT_TRUE(bool(recording));
  device->replay(recording);
  std::string fault = device->wait().str();
  EXPECT_NE(fault.find("CUDA_ERROR_ILLEGAL_ADDRESS"), fault.npos) << fault;
  EXPECT_NE(fault.find("one of 2 kernels: the first was 'count', the last "
                       "'past'; CUDA_LAUNCH_BLOCKING=1 tells which"),
            fault.npos)
      << fault;
}

// Memory of both sides, at one address.
TEST_F(CudaDevice, SharedMemory) {
  open();
  Result<DeviceBuffer> memory = device->allocateShared("extents", 8);
  ASSERT_TRUE(bool(memory)) << memory.status().str();
  auto *value = static_cast<int64_t *>(memory->data());
  *value = 5;
  launch(3, *memory, 2);
  EXPECT_EQ(device->wait().str(), "");
  EXPECT_EQ(*value, 7);
  setenv("FAKE_CUDA_FAIL", "cuMemHostAlloc=2", 1);
  EXPECT_EQ(device->allocateShared("extents", 8).status().str(),
            "cuda: extents: cuMemHostAlloc of 8 bytes on Fake GPU (sm_80): "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory");
}

//===----------------------------------------------------------------------===//
// Prefetches
//===----------------------------------------------------------------------===//

// What is filled and copied on the second stream is there for launches behind
// the wait, in a graph the latest one; the host waits for neither.
TEST_F(CudaDevice, PrefetchesAreAwaitedByLaunches) {
  open();
  Result<DeviceBuffer> shared = device->allocateShared("rows", 8);
  ASSERT_TRUE(bool(shared)) << shared.status().str();
  DeviceBuffer staged = allocate(8);
  struct {
    int64_t *to, value;
  } rows{static_cast<int64_t *>(shared->data()), 0};
  auto prefetch = [&](int64_t value) {
    rows.value = value;
    auto fill = [](void *context) {
      auto *of = static_cast<decltype(rows) *>(context);
      *of->to = of->value;
    };
    EXPECT_EQ(device->prefetch(7, fill, &rows, staged, *shared, 8).str(), "");
  };
  prefetch(100);
  device->awaitPrefetch(7);
  launch(3, staged, 2);
  EXPECT_EQ(device->wait().str(), "");
  EXPECT_EQ(read(staged), 102);

  ASSERT_TRUE(device->beginRecording());
  device->awaitPrefetch(7);
  launch(3, staged, 3);
  DeviceRecording recording = device->endRecording();
  ASSERT_TRUE(bool(recording));
  setenv("FAKE_CUDA_LOG", log.c_str(), 1);
  for (int64_t step = 1; step <= 5; ++step) {
    prefetch(1000 * step);
    device->replay(recording);
    EXPECT_EQ(calls("cuStreamSynchronize"), 2 * (step - 1));
    EXPECT_EQ(device->wait().str(), "");
    EXPECT_EQ(read(staged), 1000 * step + 3);
  }
  EXPECT_EQ(calls("cuEventCreate"), 0) << "an event for each number";
}

TEST_F(CudaDevice, FailedPrefetches) {
  for (const char *call :
       {"cuStreamCreate", "cuEventCreate", "cuLaunchHostFunc",
        "cuMemcpyAsync of 8 bytes", "cuEventRecord", "cuStreamWaitEvent"}) {
    unsetenv("FAKE_CUDA_FAIL");
    device.reset();
    open();
    Result<DeviceBuffer> shared = device->allocateShared("rows", 8);
    ASSERT_TRUE(bool(shared)) << shared.status().str();
    DeviceBuffer staged = allocate(8);
    std::string name(call);
    name = name.substr(0, name.find(' '));
    setenv("FAKE_CUDA_FAIL", (name + "=719").c_str(), 1);
    Status status =
        device->prefetch(7, [](void *) {}, nullptr, staged, *shared, 8);
    if (status) {
      device->awaitPrefetch(7);
      status = device->wait();
    }
    EXPECT_EQ(status.str(), std::string("cuda: prefetch: ") + call +
                                " on Fake GPU (sm_80): CUDA_ERROR_LAUNCH_"
                                "FAILED: unspecified launch failure");
  }
}

//===----------------------------------------------------------------------===//
// Failures: kernel, architecture and cause (case 37)
//===----------------------------------------------------------------------===//

TEST_F(CudaDevice, NoDeviceOfThatNumber) {
  EXPECT_EQ(openFault("cuda:1"), "cuda: device 1: there are 1");
  EXPECT_EQ(openFault("cuda:x"), "cuda: 'x': not the number of a device");
}

TEST_F(CudaDevice, OpeningNamesTheCallAndTheCause) {
  for (const auto &[plan, fault] :
       {std::pair("cuInit=100", "cuda: cuInit: CUDA_ERROR_NO_DEVICE: no "
                                "CUDA-capable device is detected"),
        std::pair("cuDevicePrimaryCtxRetain=46",
                  "cuda: cuDevicePrimaryCtxRetain: "
                  "CUDA_ERROR_DEVICE_UNAVAILABLE: device is busy or "
                  "unavailable"),
        std::pair("cuModuleLoadDataEx=209",
                  "cuda: PTX for nvptx:sm_80 on Fake GPU (sm_80): "
                  "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available "
                  "for execution on the device"),
        std::pair("cuGetProcAddress:cuMemMap=500",
                  "cuda: libcuda.so.1: no cuMemMap; a driver for CUDA 12.4 is "
                  "needed")}) {
    setenv("FAKE_CUDA_FAIL", plan, 1);
    EXPECT_EQ(openFault(), fault);
  }
}

TEST_F(CudaDevice, TheCompilersLogIsPartOfTheFault) {
  setCodes(
      {{"nvptx:sm_80", ".version 8.0\n.target sm_80\njunk\n", nullptr, 0}});
  std::string fault = openFault();
  EXPECT_EQ(fault.find("cuda: PTX for nvptx:sm_80 on Fake GPU (sm_80): "
                       "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation "
                       "failed\nPTX compiler of the driver: image:3"),
            0u)
      << fault;
}

TEST_F(CudaDevice, CodeOfAnotherArchitecture) {
  setCodes({{"nvptx:sm_80", kCode, nullptr, 0},
            {"nvptx:sm_100a", kCode, nullptr, 0}});
  setenv("FAKE_CUDA_CAPABILITY", "75", 1);
  EXPECT_EQ(openFault(), "cuda: Fake GPU (sm_75): no kernel image for this "
                         "device; the model was compiled for nvptx:sm_80, "
                         "nvptx:sm_100a");
}

// The newest architecture that the device is, or can be; its cubin where the
// generation is the same, else its PTX.
TEST_F(CudaDevice, TheBestCodeIsTaken) {
  std::string cubin80 = std::string("\x7f"
                                    "ELFsm_80\n") +
                        kCode;
  std::string cubin90 = std::string("\x7f"
                                    "ELFsm_90a\n") +
                        kCode;
  auto code = [](const char *target, const std::string *cubin) {
    return dsf_device_code{target, "no PTX", cubin ? cubin->data() : nullptr,
                           cubin ? int64_t(cubin->size()) : 0};
  };
  setCodes({code("nvptx:sm_80", &cubin80), code("nvptx:sm_90a", &cubin90),
            code("nvptx:sm_120a", nullptr)});
  for (const char *capability : {"80", "86", "90"}) {
    setenv("FAKE_CUDA_CAPABILITY", capability, 1);
    EXPECT_EQ(openFault(), "") << capability;
  }
  for (const auto &[capability, fault] :
       {std::pair("100", "cuda: PTX for nvptx:sm_80 on"),
        std::pair("120", "cuda: PTX for nvptx:sm_120a on")}) {
    setenv("FAKE_CUDA_CAPABILITY", capability, 1);
    EXPECT_EQ(openFault().find(fault), 0u) << openFault();
  }
}

// What a driver says of a cubin that it does not take after all.
TEST_F(CudaDevice, CubinThatTheDriverRefuses) {
  setCodes({{"nvptx:sm_80", kCode,
             "\x7f"
             "ELFsm_90a\n",
             12}});
  EXPECT_EQ(openFault(),
            "cuda: cubin for nvptx:sm_80 on Fake GPU (sm_80): "
            "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for "
            "execution on the device");
}

TEST_F(CudaDevice, OutOfMemory) {
  open();
  setenv("FAKE_CUDA_FAIL", "cuMemAllocAsync=2", 1);
  EXPECT_EQ(device->allocate("layers.3.ffn.w1", 64, DSF_READ).status().str(),
            "cuda: layers.3.ffn.w1: cuMemAllocAsync of 64 bytes on Fake GPU "
            "(sm_80): CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  Result<DeviceBuffer> range = device->reserve("session", 1 << 20);
  ASSERT_TRUE(bool(range));
  setenv("FAKE_CUDA_FAIL", "cuMemCreate=2", 1);
  EXPECT_EQ(device->commit(*range, 0, 100).str(),
            "cuda: memory: cuMemCreate of 65536 bytes on Fake GPU (sm_80): "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory");
}

TEST_F(CudaDevice, MissingKernel) {
  open();
  DeviceBuffer memory = allocate(8);
  launch(2, memory, 1);
  launch(0, memory, 1);
  EXPECT_EQ(device->wait().str(),
            "kernel 'missing' for nvptx:sm_80: cuModuleGetFunction on Fake GPU "
            "(sm_80): CUDA_ERROR_NOT_FOUND: named symbol not found");
  EXPECT_NE(read(memory), 1) << "nothing runs behind a failure";
  EXPECT_EQ(device->wait().str(), "");
}

TEST_F(CudaDevice, FailedLaunches) {
  for (const auto &[plan, cause] :
       {std::pair("cuLaunchKernel=719",
                  "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"),
        std::pair("cuLaunchKernel=701",
                  "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources "
                  "requested for launch"),
        std::pair("cuLaunchKernel=214", "CUDA_ERROR_ECC_UNCORRECTABLE: "
                                        "uncorrectable ECC error encountered"),
        std::pair("cuLaunchKernel=998", "error 998")}) {
    unsetenv("FAKE_CUDA_FAIL");
    device.reset();
    open();
    DeviceBuffer memory = allocate(8);
    setenv("FAKE_CUDA_FAIL", plan, 1);
    launch(0, memory, 1);
    EXPECT_EQ(device->wait().str(),
              std::string("kernel 'count' for nvptx:sm_80: cuLaunchKernel on "
                          "Fake GPU (sm_80): ") +
                  cause);
  }
}

// A kernel fails while it runs: whoever waits hears of it.
TEST_F(CudaDevice, LateFailures) {
  open();
  DeviceBuffer memory = allocate(8);
  launch(0, memory, 1);
  launch(1, memory, 2);
  EXPECT_EQ(device->wait().str(),
            "cuda: kernels for nvptx:sm_80: cuStreamSynchronize on Fake GPU "
            "(sm_80): CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
            "encountered\none of 2 kernels: the first was 'count', the last "
            "'past'; CUDA_LAUNCH_BLOCKING=1 tells which");
  int64_t value = 0;
  EXPECT_FALSE(device->copy(&value, memory.data(), 8).ok()) << "it stays so";
}

TEST_F(CudaDevice, BlockingLaunchesNameTheKernel) {
  open();
  DeviceBuffer memory = allocate(8);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  launch(0, memory, 1);
  launch(1, memory, 2);
  std::string fault = device->wait().str();
  EXPECT_EQ(fault.find("kernel 'past' for nvptx:sm_80: cuLaunchKernel on Fake "
                       "GPU (sm_80): CUDA_ERROR_ILLEGAL_ADDRESS"),
            0u)
      << fault;
}

} // namespace
