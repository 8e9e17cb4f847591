//===- FaultTest.cpp - One planted fault of each kind ---------------------===//

#include "SimtTest.h"

using namespace dsflash;
using namespace dsflash::simt;

namespace {

/// Runs a kernel on `out` of 256 bytes; its faults.
std::string faultsOf(const std::string &body, Dim3 grid, Dim3 block,
                     Options options = {}, bool writable = true) {
  Device device(options);
  Result<Module> module =
      loadText(device, kernelText(body, ".shared .align 16 .b8 sh[1024];\n"));
  if (!module)
    return "";
  Result<uint64_t> out = device.allocate(256, "out", writable);
  EXPECT_TRUE(out.ok());
  const void *arguments[] = {&*out};
  return module->launch("k", grid, block, 0, arguments).str();
}

// The body begins in line 18 of the text.
void expectFault(const std::string &body, const std::string &place,
                 const std::string &kind, Dim3 block = {1}, Dim3 grid = {1}) {
  std::string text = faultsOf(body, grid, block);
  EXPECT_EQ(text.substr(0, place.size()), place) << text;
  EXPECT_NE(text.find(": " + kind + ": "), std::string::npos) << text;
}

#define OWN_WORD                                                               \
  "mul.wide.u32 %rd1, %r0, 4;\nmov.b64 %rd2, sh;\nadd.s64 %rd2, %rd2, %rd1;\n"

TEST(SimtFaults, Addresses) {
  expectFault("ld.global.u32 %r1, [%rd0+256];", "k:16", "out-of-bounds global");
  expectFault("st.global.u32 [%rd0+-4], 1;", "k:16", "out-of-bounds global");
  expectFault("st.shared.u32 [sh+1024], 1;", "k:16", "out-of-bounds shared");
  expectFault("st.global.v4.u32 [%rd0+8], {1, 1, 1, 1};", "k:16",
              "misaligned global");
  expectFault("st.shared.u64 [sh+4], 1;", "k:16", "misaligned shared");
  // Through a generic address too.
  expectFault("mov.b64 %rd1, sh;\ncvta.shared.u64 %rd1, %rd1;\n"
              "st.u64 [%rd1+4], 1;",
              "k:18", "misaligned shared");
}

TEST(SimtFaults, ReadOnlyMemory) {
  for (const char *store : {"st.global.u32 [%rd0], 1;", "st.u32 [%rd0], 1;",
                            "st.global.v4.u32 [%rd0+16], {1, 1, 1, 1};",
                            "red.global.add.u32 [%rd0], 1;",
                            "atom.global.or.b32 %r1, [%rd0], 1;"}) {
    std::string text = faultsOf(store, {1}, {1}, {}, /*writable=*/false);
    EXPECT_EQ(text.find("k:16: read-only global: "), 0u) << store << text;
  }
  EXPECT_EQ(faultsOf("ld.global.u32 %r1, [%rd0];", {1}, {1}, {}, false), "");
}

TEST(SimtFaults, SourceLocation) {
  std::string text =
      faultsOf(".loc 1 12 3\nld.global.u32 %r1, [%rd0+256];", {1}, {1});
  EXPECT_EQ(text.substr(0, 6), "k:17: ") << text;
  Device device;
  Result<Module> module =
      loadText(device, kernelText(".loc 1 12 3\nld.global.u32 %r1, [%rd0+8];",
                                  ".file 1 \"model.mlir\"\n"));
  ASSERT_TRUE(module.ok());
  Result<uint64_t> out = device.allocate(8, "out");
  const void *arguments[] = {&*out};
  EXPECT_EQ(module->launch("k", {1}, {1}, 0, arguments).str().substr(0, 24),
            "k:17 (model.mlir:12:3): ");
}

TEST(SimtFaults, UndefinedValues) {
  expectFault("ld.shared.u32 %r1, [sh];", "k:16", "uninitialised shared");
  expectFault("st.global.u32 [%rd0], %r5;", "k:16", "undefined register");
  expectFault("setp.eq.u32 %p1, %r0, 1;\n@%p1 mov.u32 %r5, 1;\n"
              "add.u32 %r6, %r5, 1;\nst.global.u32 [%rd0], %r6;",
              "k:19", "undefined register");
  // An undefined half that nobody uses is none.
  EXPECT_EQ(faultsOf("mov.u32 %r5, 1;\ncvt.u16.u32 %rs1, %r5;\n"
                     "mov.b32 %r6, {%rs1, %rs2};\nmov.b32 {%rs3, %rs4}, %r6;\n"
                     "st.global.u16 [%rd0], %rs3;",
                     {1}, {1}),
            "");
}

TEST(SimtFaults, Races) {
  std::string exchange =
      OWN_WORD "st.shared.u32 [%rd2], %r0;\n%SYNC\n"
               "xor.b32 %r1, %r0, %DISTANCE;\nmul.wide.u32 %rd1, %r1, 4;\n"
               "mov.b64 %rd2, sh;\nadd.s64 %rd2, %rd2, %rd1;\n"
               "ld.shared.u32 %r2, [%rd2];";
  auto with = [&](const std::string &sync, const std::string &distance) {
    std::string text = exchange;
    text.replace(text.find("%SYNC"), 5, sync);
    text.replace(text.find("%DISTANCE"), 9, distance);
    return text;
  };
  // Whether the store or the load is seen second depends on the order; the
  // race is found in each.
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    Options options;
    options.order = order;
    auto faults = [&](const std::string &sync, const std::string &distance) {
      return faultsOf(with(sync, distance), {1}, {64}, options);
    };
    EXPECT_EQ(faults("bar.sync 0;", "32"), "");
    EXPECT_EQ(faults("bar.sync 0;", "1"), "");
    EXPECT_EQ(faults("bar.warp.sync -1;", "1"), "");
    EXPECT_NE(faults("bar.warp.sync -1;", "32").find("race: between warps"),
              std::string::npos);
    EXPECT_NE(faults("", "1").find("race: between lanes"), std::string::npos);
  }
  expectFault("st.global.u32 [%rd0], %r0;", "k:16", "race", {1}, {2});
  EXPECT_EQ(faultsOf("red.global.add.u32 [%rd0], 1;", {4}, {64}), "");
  // Neighbouring bytes of a word are no race.
  EXPECT_EQ(faultsOf("mov.u32 %r1, %ctaid.x;\ncvt.u64.u32 %rd1, %r1;\n"
                     "add.s64 %rd1, %rd0, %rd1;\nmov.u16 %rs1, 1;\n"
                     "st.global.u8 [%rd1], %rs1;",
                     {4}, {1}),
            "");
}

TEST(SimtFaults, Waits) {
  std::string copy = "mov.u64 %rd3, 7;\nst.global.b64 [%rd0], %rd3;\n"
                     "mov.b64 %rd2, sh;\n"
                     "cp.async.ca.shared.global [%rd2], [%rd0], 8;\n"
                     "cp.async.commit_group;\n";
  std::string use =
      "ld.shared.b64 %rd4, [%rd2];\nst.global.b64 [%rd0+8], %rd4;";
  expectFault(copy + use, "k:21", "missing wait");
  expectFault(copy + "cp.async.wait_group 1;\n" + use, "k:22", "missing wait");
  EXPECT_EQ(faultsOf(copy + "cp.async.wait_group 0;\n" + use, {1}, {1}), "");
  EXPECT_EQ(faultsOf(copy + "cp.async.wait_all;\n" + use, {1}, {1}), "");
}

TEST(SimtFaults, Barriers) {
  expectFault("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra other;\nbar.sync 0;\n"
              "bra end;\nother:\nbar.sync 0;\nend:",
              "k:", "divergent barrier", {64});
  expectFault("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra end;\n"
              "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;\nend:",
              "k:18", "deadlock", {32});
  // Threads that have ended are waited for no longer.
  EXPECT_EQ(faultsOf("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra end;\n"
                     "bar.sync 0;\nend:",
                     {1}, {64}),
            "");
  expectFault("bar.sync 1, 64;", "k:16", "deadlock", {32});
  expectFault("shfl.sync.down.b32 %r1, %r0, 1, 31, 3;", "k:16", "inactive lane",
              {2});
  expectFault("shfl.sync.idx.b32 %r1, %r0, 0, 31, 1;", "k:16", "mask", {2});
  expectFault("trap;", "k:16", "trap");
}

// Barriers are numbered 0 to 15 and count whole warps (PTX ISA, bar).
TEST(SimtFaults, BarriersThatDoNotExist) {
  expectFault("mov.u32 %r1, 16;\nbar.sync %r1;", "k:17", "barrier", {32});
  expectFault("mov.u32 %r1, -1;\nbar.sync %r1, 32;", "k:17", "barrier", {32});
  expectFault("bar.sync 1, 33;", "k:16", "barrier", {64});
  expectFault("mov.b64 %rd1, sh;\n"
              "mbarrier.arrive.shared::cta.b64 %rd2, [%rd1];",
              "k:17", "mbarrier");
  expectFault("mov.b64 %rd1, sh;\nmbarrier.init.shared.b64 [%rd1], 1;\n"
              "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%rd1+8], 0;",
              "k:18", "mbarrier");
}

TEST(SimtFaults, EndlessLoop) {
  Options options;
  options.maxBackwardBranches = 1000;
  std::string text =
      faultsOf("again:\nadd.u32 %r0, %r0, 1;\nbra again;", {1}, {1}, options);
  EXPECT_NE(text.find("k:18: endless loop"), std::string::npos) << text;
}

} // namespace
