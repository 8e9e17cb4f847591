//===- LaunchTest.cpp - Whole kernels, as LLVM writes them ----------------===//

#include "SimtTest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::simt;

namespace {

// As LLVM writes a kernel with a call, a local frame, a shared variable, a
// barrier and a branch table.
const char *const kWhole = R"(
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0,
	.param .align 16 .b8 helper_param_1[8]
)
{
	.reg .b32 	%r<6>;
// %bb.0:
	ld.param.b32 	%r1, [helper_param_0];
	ld.param.v2.b32 	{%r2, %r3}, [helper_param_1];
	cvt.rn.f32.s32 	%r4, %r3;
	add.rn.f32 	%r5, %r1, %r4;
	st.param.b32 	[func_retval0], %r5;
	ret;
}
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u64 .ptr .global .align 1 k_param_1,
	.param .u32 k_param_2
)
{
	.local .align 4 .b8 	__local_depot1[64];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	.reg .pred 	%p<2>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<16>;
	.loc	1 0 0
	.shared .align 16 .b8 sh[256];
	mov.b64 	%SPL, __local_depot1;
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b64 	%rd2, [k_param_1];
	mov.u32 	%r2, %tid.x;
	ld.param.b32 	%r3, [k_param_2];
	mul.wide.u32 	%rd3, %r2, 4;
	add.s64 	%rd4, %rd1, %rd3;
	.loc	1 12 3                          // model.mlir:12:3
	ld.global.b32 	%r4, [%rd4];
	mov.b64 	%rd5, sh;
	add.s64 	%rd6, %rd5, %rd3;
	st.shared.b32 	[%rd6], %r4;
	bar.sync 	0;
	xor.b32 %r10, %r2, 63;
	mul.wide.u32 	%rd12, %r10, 4;
	add.s64 	%rd12, %rd5, %rd12;
	ld.shared.b32 %r4, [%rd12];
	add.u64 	%rd7, %SPL, 0;
	mul.wide.s32 	%rd8, %r3, 4;
	add.s64 	%rd9, %rd7, %rd8;
	st.local.b32 	[%rd9], %r2;
	ld.local.b32 	%r5, [%rd9];
	{ // callseq 0, 0
	.param .b32 	param0;
	.param .align 16 .b8 	param1[8];
	.param .b32 	retval0;
	st.param.v2.b32 	[param1], {%r3, %r5};
	st.param.b32 	[param0], %r4;
	call.uni (retval0), helper, (param0, param1);
	ld.param.b32 	%r6, [retval0];
	} // callseq 0
	add.s64 	%rd11, %rd2, %rd3;
	rem.u32 %r7, %r2, 3;
	$L_brx_0: .branchtargets
		$L__BB1_2,
		$L__BB1_3,
		$L__BB1_4;
	brx.idx 	%r7, $L_brx_0;
$L__BB1_2:
	st.global.b32 	[%rd11], %r6;
	bra.uni 	$L__BB1_8;
$L__BB1_3:
	st.global.b32 	[%rd11], 0f40000000;
	bra.uni 	$L__BB1_8;
$L__BB1_4:
	{
	.reg .pred p;
	setp.gt.u32 p, %r2, 30;
	@p bra done;
	st.global.b32 	[%rd11], -1;
	done:
	}
$L__BB1_8:
	ret;
}
	.file	1 "model.mlir"
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
	}
)";

TEST(SimtLaunch, CallsFramesBarriersAndBranchTables) {
  for (bool checks : {false, true})
    for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
      Options options;
      options.checks = checks;
      options.order = order;
      Device device(options);
      Result<Module> module = loadText(device, kWhole);
      ASSERT_TRUE(module.ok());
      ASSERT_NE(module->kernel("k"), nullptr);
      EXPECT_EQ(module->kernel("k")->sharedBytes, 256u);
      EXPECT_EQ(module->kernel("k")->parameters.size(), 3u);
      std::vector<float> in(64), out(64, 7);
      for (int i = 0; i < 64; ++i)
        in[size_t(i)] = float(i) / 2;
      ASSERT_TRUE(device.mapHost(in.data(), 256, false, "in").ok());
      ASSERT_TRUE(device.mapHost(out.data(), 256, true, "out").ok());
      const float *from = in.data();
      float *to = out.data();
      uint32_t slot = 3;
      const void *arguments[] = {&from, &to, &slot};
      Status status = module->launch("k", {1}, {64}, 0, arguments);
      ASSERT_TRUE(status.ok()) << status.str();
      for (uint32_t i = 0; i < 64; ++i) {
        uint32_t bits;
        std::memcpy(&bits, &out[i], 4);
        if (i % 3 == 0)
          EXPECT_EQ(out[i], in[63 - i] + float(i));
        else if (i % 3 == 1)
          EXPECT_EQ(out[i], 2.0f);
        else if (i > 30)
          EXPECT_EQ(out[i], 7.0f);
        else
          EXPECT_EQ(bits, ~0u);
      }
    }
}

// A damaged file of compiled code is not used (case 40).
TEST(SimtLaunch, CompiledCodeIsKept) {
  namespace fs = std::filesystem;
  fs::path folder =
      fs::path(testing::TempDir()) / ("simt-cache-" + std::to_string(getpid()));
  const char *before = std::getenv("XDG_CACHE_HOME");
  std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  auto run = [&](const std::string &value) {
    Device device;
    Result<Module> module =
        loadText(device, kernelText("st.global.u32 [%rd0], " + value + ";"));
    uint32_t result = 0, *to = &result;
    EXPECT_TRUE(device.mapHost(to, 4, true, "out").ok());
    const void *arguments[] = {&to};
    EXPECT_TRUE(module->launch("k", {1}, {1}, 0, arguments).ok());
    return result;
  };
  auto entries = [&] {
    return std::distance(fs::directory_iterator(folder / "dsflash"), {});
  };
  EXPECT_EQ(run("5"), 5u);
  EXPECT_EQ(run("5"), 5u);
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(run("6"), 6u);
  EXPECT_EQ(entries(), 2);
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder / "dsflash")) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out);
    file.seekp(-8, std::ios::end);
    file << "damaged!";
  }
  EXPECT_EQ(run("5"), 5u);
  EXPECT_EQ(run("6"), 6u);
  EXPECT_EQ(entries(), 2);
  fs::remove_all(folder);
  if (before)
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
}

TEST(SimtLaunch, LoadNamesLinesOfErrors) {
  Device device;
  auto errorOf = [&](const std::string &text) {
    return Module::load(device, text, "a.ptx").status().str();
  };
  EXPECT_EQ(errorOf(""), "a.ptx:1: no '.target': this is no PTX module");
  EXPECT_EQ(errorOf(withHeader(".visible .entry k()\n{\nbra away;\n}")),
            "a.ptx:6: 'away' is not declared");
}

TEST(SimtLaunch, EveryInstructionThatIsNotModelledIsListed) {
  Device device;
  Status status =
      Module::load(device,
                   withHeader(kernelText("wmma.load.a.sync %r1, [%rd0];\n"
                                         "add.u32 %r1, %r1, 1;\n"
                                         "add.rn.nonsense.f32 %f1, %f1, %f1;")),
                   "a.ptx")
          .status();
  ASSERT_EQ(status.faults().size(), 2u);
  EXPECT_EQ(status.faults()[0], "a.ptx:15: 'wmma.load.a.sync' is not modelled");
  EXPECT_EQ(status.faults()[1],
            "a.ptx:17: 'add.rn.nonsense.f32' is not modelled");
}

TEST(SimtLaunch, LimitsOfALaunch) {
  Device device;
  Result<Module> module = loadText(device, kernelText(""));
  ASSERT_TRUE(module.ok());
  uint64_t out = 0;
  const void *arguments[] = {&out};
  EXPECT_EQ(module->launch("j", {1}, {1}, 0, arguments).str(),
            "j: no kernel of this name");
  EXPECT_EQ(module->launch("k", {0}, {1}, 0, arguments).str(),
            "k: a grid cannot be (0, 1, 1) blocks");
  EXPECT_EQ(module->launch("k", {1, 65536}, {1}, 0, arguments).str(),
            "k: a grid cannot be (1, 65536, 1) blocks");
  EXPECT_EQ(module->launch("k", {1}, {1025}, 0, arguments).str(),
            "k: a block cannot be (1025, 1, 1) threads");
  EXPECT_EQ(module->launch("k", {1}, {1}, 1 << 20, arguments).str(),
            "k: 1048576 bytes of shared memory exceed 232448");
  EXPECT_TRUE(module->launch("k", {1}, {1}, 0, arguments).ok());
}

} // namespace
