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
TEST(Device, LaunchPassesArguments) {
  dsf_module module = makeModule(kCode);
  Result<std::unique_ptr<Device>> device = Device::open("simt", module);
  ASSERT_TRUE(bool(device)) << device.status().str();
  Result<DeviceBuffer> memory = (*device)->allocate("result", 8, DSF_WRITE);
  ASSERT_TRUE(bool(memory)) << memory.status().str();
  struct {
    void *call;
    int64_t items;
  } arguments{memory->data(), 100000};
  (*device)->launch(0, arguments.items, &arguments, sizeof(arguments));
  EXPECT_TRUE((*device)->wait().ok());
  int64_t result = 0;
  EXPECT_TRUE((*device)->copy(&result, memory->data(), sizeof(result)).ok());
  EXPECT_EQ(result, 100000);
}

TEST(Device, CodeThatIsNoPTXIsAnError) {
  dsf_module module = makeModule("junk");
  Result<std::unique_ptr<Device>> device = Device::open("simt", module);
  ASSERT_FALSE(bool(device));
  EXPECT_EQ(device.status().str().find("simt: model.ptx:1"), 0u)
      << device.status().str();
}

// The device knows what the runtime allocated, and for what.
TEST(Device, CheckedKernelsKeepToTheirMemory) {
  dsf_module module = makeModule(kCode);
  for (const auto &[bytes, access, fault] :
       {std::tuple(int64_t(4), DSF_WRITE, "out-of-bounds global"),
        std::tuple(int64_t(8), DSF_READ, "read-only global"),
        std::tuple(int64_t(8), DSF_WRITE, "")}) {
    Result<std::unique_ptr<Device>> device =
        Device::open("simt:checks", module);
    ASSERT_TRUE(bool(device)) << device.status().str();
    Result<DeviceBuffer> memory = (*device)->allocate("result", bytes, access);
    ASSERT_TRUE(bool(memory)) << memory.status().str();
    struct {
      void *call;
      int64_t items;
    } arguments{memory->data(), 1};
    (*device)->launch(0, 1, &arguments, sizeof(arguments));
    std::string found = (*device)->wait().str();
    EXPECT_NE(found.find(fault), found.npos) << found;
    EXPECT_EQ(found.empty(), *fault == 0) << found;
  }
}

TEST(Device, CountsWhatKernelsDo) {
  dsf_module module = makeModule(kCode);
  Result<std::unique_ptr<Device>> device =
      Device::open("simt:counters", module);
  ASSERT_TRUE(bool(device)) << device.status().str();
  Result<DeviceBuffer> memory = (*device)->allocate("result", 8, DSF_WRITE);
  ASSERT_TRUE(bool(memory)) << memory.status().str();
  struct {
    void *call;
    int64_t items;
  } arguments{memory->data(), 1};
  for (int i = 0; i < 3; ++i)
    (*device)->launch(0, 1, &arguments, sizeof(arguments));
  EXPECT_TRUE((*device)->wait().ok());
  std::string text = (*device)->statistics();
  for (const char *part :
       {"\"name\":\"count\"", "\"launches\":3", "\"global_written_bytes\":24",
        "\"unique_written_bytes\":24", "\"global_sectors\":3"})
    EXPECT_NE(text.find(part), text.npos) << part << " in " << text;
  EXPECT_EQ((*Device::open("simt", module))->statistics(), "");
}

TEST(Device, OptionsBelongToTheDevice) {
  dsf_module module = makeModule(kCode);
  for (const std::string option : {"fast", "random", "randomly", "random-1",
                                   "random7x", "random18446744073709551616"})
    EXPECT_EQ(Device::open("simt:checks," + option, module).status().str(),
              "simt: unknown option '" + option +
                  "': it has checks, counters, reverse, randomSEED, sm_CHIP");
  EXPECT_EQ(Device::open("simt:sm_90a", module).status().str(),
            "simt: nvptx:sm_90a: the model has no code for it");
}

// Kernel, architecture and cause (case 37); nothing runs behind a failure.
TEST(Device, FailedLaunchNamesTheKernel) {
  dsf_module module = makeModule(kCode);
  Result<std::unique_ptr<Device>> device = Device::open("simt", module);
  ASSERT_TRUE(bool(device));
  int64_t result = 0;
  struct {
    int64_t *call;
    int64_t items;
  } arguments{&result, 1};
  (*device)->launch(1, 1, &arguments, sizeof(arguments));
  (*device)->launch(0, 1, &arguments, sizeof(arguments));
  EXPECT_EQ(result, 0);
  EXPECT_EQ((*device)->wait().str(),
            "kernel 'missing' for nvptx:sm_80: model.ptx: no such kernel");
  EXPECT_TRUE((*device)->wait().ok());
  (*device)->launch(0, 1, &arguments, sizeof(int64_t));
  EXPECT_EQ((*device)->wait().str(),
            "kernel 'count' for nvptx:sm_80: its parameters: 16 bytes, the "
            "launch has 8");
}
#endif

} // namespace
