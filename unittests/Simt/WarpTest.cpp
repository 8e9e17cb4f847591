//===- WarpTest.cpp - Exchanges, copies and matrices ----------------------===//
//
// Expected values follow from the PTX ISA (9.7.9.6, 9.7.13, 9.7.14) by hand.
//
//===----------------------------------------------------------------------===//

#include "SimtTest.h"

#include <functional>

using namespace dsflash;
using namespace dsflash::simt;

namespace {

/// The 32-bit word that each of 32 threads leaves in %r1.
std::vector<uint32_t> runWarp(const std::string &body, bool checks,
                              const std::vector<uint32_t> &in = {}) {
  Options options;
  options.checks = checks;
  Device device(options);
  Result<Module> module = loadText(
      device, kernelText("mul.wide.u32 %rd9, %r0, 4;\nadd.s64 %rd9, %rd0, "
                         "%rd9;\n" +
                             body + "\nst.global.b32 [%rd9], %r1;",
                         ".shared .align 128 .b8 sh[4096];\n"));
  std::vector<uint32_t> out(32);
  if (!module)
    return out;
  Result<uint64_t> memory = device.allocate(8192, "out");
  EXPECT_TRUE(device.write(*memory, in.data(), 4 * in.size()).ok());
  const void *arguments[] = {&*memory};
  Status status = module->launch("k", {1}, {32}, 0, arguments);
  EXPECT_TRUE(status.ok()) << status.str();
  EXPECT_TRUE(device.read(*memory, out.data(), 128).ok());
  return out;
}

void expectWarp(const std::string &body,
                const std::function<uint32_t(uint32_t)> &expected,
                const std::vector<uint32_t> &in = {}) {
  for (bool checks : {false, true}) {
    std::vector<uint32_t> out = runWarp(body, checks, in);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[lane], expected(lane)) << body << "\nlane " << lane;
  }
}

TEST(SimtWarp, Shuffles) {
  expectWarp("shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;",
             [](uint32_t lane) { return lane ^ 5; });
  expectWarp("shfl.sync.down.b32 %r1, %r0, 4, 31, -1;",
             [](uint32_t lane) { return lane + 4 < 32 ? lane + 4 : lane; });
  expectWarp("shfl.sync.up.b32 %r1, %r0, 3, 0, -1;",
             [](uint32_t lane) { return lane >= 3 ? lane - 3 : lane; });
  // Segments of 8 lanes: mask 0b11000, last lane of each 7.
  expectWarp("shfl.sync.idx.b32 %r1, %r0, 2, 6175, -1;",
             [](uint32_t lane) { return lane / 8 * 8 + 2; });
  expectWarp("shfl.sync.down.b32 %r1, %r0, 4, 6151, -1;",
             [](uint32_t lane) { return lane % 8 < 4 ? lane + 4 : lane; });
  expectWarp("shfl.sync.down.b32 %r2|%p1, %r0, 4, 31, -1;\n"
             "selp.u32 %r1, 1, 0, %p1;",
             [](uint32_t lane) { return uint32_t(lane + 4 < 32); });
}

TEST(SimtWarp, VotesMatchesAndReductions) {
  expectWarp("and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 1;\n"
             "vote.sync.ballot.b32 %r1, %p1, -1;",
             [](uint32_t) { return 0xaaaaaaaau; });
  expectWarp("setp.lt.u32 %p1, %r0, 31;\nvote.sync.all.pred %p2, %p1, -1;\n"
             "vote.sync.any.pred %p3, %p1, -1;\nselp.u32 %r2, 2, 0, %p2;\n"
             "selp.u32 %r1, 1, 0, %p3;\nor.b32 %r1, %r1, %r2;",
             [](uint32_t) { return 1u; });
  expectWarp("and.b32 %r2, %r0, 3;\nmatch.any.sync.b32 %r1, %r2, -1;",
             [](uint32_t lane) { return 0x11111111u << (lane & 3); });
  expectWarp("match.all.sync.b32 %r1|%p1, %r0, -1;",
             [](uint32_t) { return 0u; });
  expectWarp("redux.sync.add.u32 %r1, %r0, -1;", [](uint32_t) { return 496u; });
  expectWarp("neg.s32 %r2, %r0;\nredux.sync.min.s32 %r1, %r2, -1;",
             [](uint32_t) { return uint32_t(-31); });
  expectWarp("setp.ge.u32 %p1, %r0, 3;\nbar.red.popc.u32 %r1, 0, %p1;",
             [](uint32_t) { return 29u; });
  expectWarp("mov.u32 %r1, %lanemask_lt;",
             [](uint32_t lane) { return (1u << lane) - 1; });
}

TEST(SimtWarp, AsynchronousCopies) {
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i)
    in[i] = 1000 + i;
  const std::string own = "mul.wide.u32 %rd1, %r0, 4;\nmov.b64 %rd2, sh;\n"
                          "add.s64 %rd2, %rd2, %rd1;\n";
  expectWarp(
      own + "cp.async.ca.shared.global [%rd2], [%rd9], 4;\n"
            "cp.async.commit_group;\ncp.async.wait_group 0;\n"
            "ld.shared.b32 %r1, [%rd2];",
      [](uint32_t lane) { return 1000 + lane; }, in);
  // No bytes of the source: zeros.
  expectWarp(
      own + "cp.async.ca.shared.global [%rd2], [%rd9], 4, 0;\n"
            "cp.async.wait_all;\nld.shared.b32 %r1, [%rd2];",
      [](uint32_t) { return 0u; }, in);
  // One lane copies 128 bytes in bulk, all wait for the mbarrier.
  expectWarp(
      "setp.eq.u32 %p1, %r0, 0;\nmov.b64 %rd3, sh;\n"
      "@%p1 mbarrier.init.shared.b64 [%rd3+1024], 1;\nbar.sync 0;\n"
      "@!%p1 bra wait;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%rd3+1024], "
      "128;\nadd.s64 %rd6, %rd3, 1024;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%rd3], [%rd0], 128, [%rd6];\nwait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%rd3+1024], 0;\n"
      "@!%p2 bra wait;\n" +
          own + "ld.shared.b32 %r1, [%rd2];\nbar.sync 0;",
      [](uint32_t lane) { return 1000 + lane; }, in);
}

// Row r of matrix m is 16 bytes of 8 elements 64 m + 8 r + column.
TEST(SimtWarp, LoadMatrix) {
  const std::string fill =
      "mul.lo.u32 %r2, %r0, 8;\nmul.wide.u32 %rd1, %r0, 16;\n"
      "mov.b64 %rd2, sh;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "mad.lo.u32 %r3, %r2, 65537, 65536;\nadd.u32 %r4, %r3, 131074;\n"
      "add.u32 %r5, %r4, 131074;\nadd.u32 %r6, %r5, 131074;\n"
      "st.shared.v4.b32 [%rd2], {%r3, %r4, %r5, %r6};\nbar.sync 0;\n";
  auto pair = [](uint32_t low, uint32_t high) { return low | high << 16; };
  for (uint32_t matrix = 0; matrix < 4; ++matrix) {
    std::string registers = "{%r7, %r8, %r9, %r10}";
    std::string take = "mov.b32 %r1, %r" + std::to_string(7 + matrix) + ";";
    expectWarp(fill + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + registers +
                   ", [%rd2];\n" + take,
               [&](uint32_t lane) {
                 uint32_t first = 64 * matrix + 8 * (lane / 4) + lane % 4 * 2;
                 return pair(first, first + 1);
               });
    expectWarp(fill + "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " +
                   registers + ", [%rd2];\n" + take,
               [&](uint32_t lane) {
                 uint32_t first = 64 * matrix + lane / 4 + 8 * (lane % 4 * 2);
                 return pair(first, first + 8);
               });
  }
}

// a is 1 at (row, k) = (9, 5) alone, b[5][column] = column + 1: row 9 of the
// product is 1..8, to which c = 0.5 is added.
TEST(SimtWarp, MultiplyMatrix) {
  auto expected = [](uint32_t lane, uint32_t r) {
    uint32_t row = lane / 4 + (r >= 2 ? 8 : 0), column = lane % 4 * 2 + r % 2;
    return 0.5f + (row == 9 ? float(column + 1) : 0.0f);
  };
  auto code = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
  };
  for (uint32_t r = 0; r < 4; ++r) {
    std::string take = "mov.b32 %r1, %f" + std::to_string(r + 1) + ";";
    // bf16, k16: a1 holds row lane/4 + 8, k = lane%4*2 + {0, 1}: lane 6, odd
    // half. b0 holds k = lane%4*2 + {0, 1} of column lane/4: lanes 4c + 2.
    expectWarp("mov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r0, 6;\n"
               "selp.b32 %r3, 0x3f800000, 0, %p1;\n"
               "and.b32 %r4, %r0, 3;\nsetp.eq.u32 %p2, %r4, 2;\n"
               "shr.u32 %r5, %r0, 2;\nadd.u32 %r5, %r5, 1;\n"
               "cvt.rn.f32.u32 %f5, %r5;\nmov.b32 %r5, %f5;\n"
               "and.b32 %r5, %r5, 0xffff0000;\nselp.b32 %r5, %r5, 0, %p2;\n"
               "mov.f32 %f9, 0f3F000000;\n"
               "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%f1, %f2, %f3, %f4}, {%r2, %r3, %r2, %r2}, {%r5, %r2}, "
               "{%f9, %f9, %f9, %f9};\n" +
                   take,
               [&](uint32_t lane) { return code(expected(lane, r)); });
    // e4m3, k32: a1 holds row lane/4 + 8, k = lane%4*4 + 0..3: lane 5, byte 1.
    // b0 holds k = lane%4*4 + 0..3 of column lane/4: lanes 4c + 1. 2 (column
    // / 2 + 1) has the codes of powers and halves: take 1 for every column.
    expectWarp("mov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r0, 5;\n"
               "selp.b32 %r3, 0x3800, 0, %p1;\n"
               "and.b32 %r4, %r0, 3;\nsetp.eq.u32 %p2, %r4, 1;\n"
               "selp.b32 %r5, 0x4000, 0, %p2;\nmov.f32 %f9, 0f3F000000;\n"
               "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
               "{%f1, %f2, %f3, %f4}, {%r2, %r3, %r2, %r2}, {%r5, %r2}, "
               "{%f9, %f9, %f9, %f9};\n" +
                   take,
               [&](uint32_t lane) {
                 bool hit = lane / 4 == 1 && r >= 2;
                 return code(hit ? 2.5f : 0.5f);
               });
  }
}

TEST(SimtWarp, Counters) {
  Options options;
  options.counters = true;
  Device device(options);
  // 32 neighbouring words: 4 sectors. Then every 32nd word of shared memory:
  // one bank, 32 passes; and 16 bytes a lane, 4 passes without a conflict.
  Result<Module> module = loadText(
      device,
      kernelText("mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\n"
                 "st.global.u32 [%rd1], %r0;\n"
                 "mul.wide.u32 %rd2, %r0, 128;\nmov.b64 %rd3, sh;\n"
                 "add.s64 %rd2, %rd3, %rd2;\nst.shared.u32 [%rd2], %r0;\n"
                 "bar.sync 0;\nmul.wide.u32 %rd2, %r0, 16;\n"
                 "add.s64 %rd2, %rd3, %rd2;\n"
                 "st.shared.v4.b32 [%rd2], {%r0, %r0, %r0, %r0};",
                 ".shared .align 128 .b8 sh[4096];\n"));
  ASSERT_TRUE(module.ok());
  Result<uint64_t> out = device.allocate(128, "out");
  const void *arguments[] = {&*out};
  Status status = module->launch("k", {1}, {32}, 0, arguments);
  ASSERT_TRUE(status.ok()) << status.str();
  const Counters &counters = device.counters().at("k");
  EXPECT_EQ(counters.launches, 1u);
  EXPECT_EQ(counters.threads, 32u);
  EXPECT_EQ(counters.globalWrittenBytes, 128u);
  EXPECT_EQ(counters.uniqueWrittenBytes, 128u);
  EXPECT_EQ(counters.globalReadBytes, 0u);
  EXPECT_EQ(counters.globalRequests, 1u);
  EXPECT_EQ(counters.globalSectors, 4u);
  EXPECT_EQ(counters.idealSectors, 4u);
  EXPECT_EQ(counters.sharedRequests, 2u);
  EXPECT_EQ(counters.sharedPasses, 36u);
  EXPECT_EQ(counters.idealPasses, 5u);
  EXPECT_EQ(counters.instructions[size_t(InstructionClass::Barrier)], 32u);
  // ld.param, two stores to shared memory, one to global.
  EXPECT_EQ(counters.instructions[size_t(InstructionClass::Memory)], 4 * 32u);
}

} // namespace
