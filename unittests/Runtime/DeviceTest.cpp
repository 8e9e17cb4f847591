//===- DeviceTest.cpp - Opening devices and failing on them ---------------===//

#include "dsflash/Runtime/Device.h"

#include <gtest/gtest.h>

#include <tuple>

using namespace dsflash;

namespace {

constexpr const char *kCode = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 count_param_0, .param .u64 count_param_1)
{
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [count_param_0];
	ld.param.b64 %rd2, [count_param_1];
	cvta.to.global.u64 %rd3, %rd1;
	st.global.b64 [%rd3], %rd2;
	ret;
}
)";

dsf_module makeModule(const char *code) {
  static const dsf_kernel kernels[] = {
      {"count", 1, 0, 1 << 20, "count", nullptr, 0},
      {"missing", 1, 0, 1, "missing", nullptr, 0}};
  static dsf_device_code codes[1];
  codes[0] = {"nvptx:sm_80", code, nullptr, 0};
  dsf_module module{};
  module.codes = codes;
  module.code_count = 1;
  module.kernels = kernels;
  module.kernel_count = 2;
  return module;
}

TEST(Device, TheHostNeedsNone) {
  Result<std::unique_ptr<Device>> device = Device::open("cpu", dsf_module{});
  ASSERT_TRUE(bool(device));
  EXPECT_EQ(*device, nullptr);
}

TEST(Device, UnknownNamesAndModelsOfTheHostAreErrors) {
  EXPECT_EQ(
      Device::open("junk", makeModule(kCode)).status().str(),
      "--device: 'junk' is not built into this runtime; it has cpu, cuda, "
      "simt");
  EXPECT_EQ(Device::open("simt", dsf_module{}).status().str(),
            "--device: the model was compiled for the cpu, not for 'simt'");
}

#ifdef DSFLASH_TEST_SIMT
/// A simt device with memory for one result of `count`.
class SimtDevice : public testing::Test {
protected:
  struct Arguments {
    void *call;
    int64_t items;
  };

  void open(const char *spec, int64_t bytes = sizeof(int64_t),
            dsf_access access = DSF_WRITE) {
    Result<std::unique_ptr<Device>> opened = Device::open(spec, module);
    ASSERT_TRUE(bool(opened)) << opened.status().str();
    memory = DeviceBuffer();
    device = std::move(*opened);
    Result<DeviceBuffer> made = device->allocate("result", bytes, access);
    ASSERT_TRUE(bool(made)) << made.status().str();
    memory = std::move(*made);
  }
  std::string openFault(const std::string &spec) {
    return Device::open(spec, module).status().str();
  }
  void launch(int32_t kernel, int64_t items,
              int64_t bytes = sizeof(Arguments)) {
    Arguments arguments{memory.data(), items};
    device->launch(kernel, items, &arguments, bytes);
  }
  int64_t read() {
    int64_t result = 0;
    EXPECT_TRUE(device->copy(&result, memory.data(), sizeof(result)).ok());
    return result;
  }

  dsf_module module = makeModule(kCode);
  std::unique_ptr<Device> device;
  DeviceBuffer memory;
};

TEST_F(SimtDevice, LaunchPassesArguments) {
  open("simt");
  launch(0, 100000);
  EXPECT_TRUE(device->wait().ok());
  EXPECT_EQ(read(), 100000);
}

TEST_F(SimtDevice, CodeThatIsNoPTXIsAnError) {
  module = makeModule("junk");
  std::string fault = openFault("simt");
  EXPECT_EQ(fault.find("simt: model.ptx:1"), 0u) << fault;
}

// The device knows what the runtime allocated, and for what.
TEST_F(SimtDevice, CheckedKernelsKeepToTheirMemory) {
  for (const auto &[bytes, access, fault] :
       {std::tuple(int64_t(4), DSF_WRITE, "out-of-bounds global"),
        std::tuple(int64_t(8), DSF_READ, "read-only global"),
        std::tuple(int64_t(8), DSF_WRITE, "")}) {
    open("simt:checks", bytes, access);
    launch(0, 1);
    std::string found = device->wait().str();
    EXPECT_NE(found.find(fault), found.npos) << found;
    EXPECT_EQ(found.empty(), *fault == 0) << found;
  }
}

TEST_F(SimtDevice, CountsWhatKernelsDo) {
  open("simt:counters");
  for (int i = 0; i < 3; ++i)
    launch(0, 1);
  EXPECT_TRUE(device->wait().ok());
  std::string text = device->statistics();
  for (const char *part :
       {"\"name\":\"count\"", "\"launches\":3", "\"global_written_bytes\":24",
        "\"unique_written_bytes\":24", "\"global_sectors\":3"})
    EXPECT_NE(text.find(part), text.npos) << part << " in " << text;
  open("simt");
  EXPECT_EQ(device->statistics(), "");
}

TEST_F(SimtDevice, OptionsBelongToTheDevice) {
  for (const std::string option : {"fast", "random", "randomly", "random-1",
                                   "random7x", "random18446744073709551616"})
    EXPECT_EQ(openFault("simt:checks," + option),
              "simt: unknown option '" + option +
                  "': it has checks, counters, reverse, randomSEED, sm_CHIP");
  EXPECT_EQ(openFault("simt:sm_90a"),
            "simt: nvptx:sm_90a: the model has no code for it");
}

// Kernel, architecture and cause (case 37); nothing runs behind a failure.
TEST_F(SimtDevice, FailedLaunchNamesTheKernel) {
  open("simt");
  launch(0, 5);
  launch(1, 1);
  launch(0, 6);
  EXPECT_EQ(device->wait().str(),
            "kernel 'missing' for nvptx:sm_80: model.ptx: no such kernel");
  EXPECT_EQ(read(), 5);
  EXPECT_TRUE(device->wait().ok());
  launch(0, 1, sizeof(int64_t));
  EXPECT_EQ(device->wait().str(),
            "kernel 'count' for nvptx:sm_80: its parameters: 16 bytes, the "
            "launch has 8");
}
#endif

} // namespace
