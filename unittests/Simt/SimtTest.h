//===- SimtTest.h - Kernels of a few lines ----------------------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_SIMT_SIMTTEST_H
#define DSFLASH_UNITTESTS_SIMT_SIMTTEST_H

#include "dsflash/Simt/Simt.h"

#include "gtest/gtest.h"

#include <cstring>

namespace dsflash::simt {

inline std::string withHeader(const std::string &text) {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n" + text;
}

/// Loads a module; a failure to do so fails the test.
inline Result<Module> loadText(Device &device, const std::string &text) {
  Result<Module> module = Module::load(device, withHeader(text), "test.ptx");
  EXPECT_TRUE(module.ok()) << module.status().str();
  return module;
}

/// A kernel `k` of one pointer %out (and, past it, `dynamic` shared bytes)
/// whose body is given; registers: %p<9>, %rs<9>, %r<20>, %rd<20>, %f<20>,
/// %fd<9>. %rd0 is the pointer, %r0 the thread in the block.
inline std::string kernelText(const std::string &body,
                              const std::string &before = "") {
  return before + R"(
.visible .entry k(.param .u64 k_out)
{
.reg .pred %p<9>;
.reg .b16 %rs<9>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .b32 %f<20>;
.reg .b64 %fd<9>;
ld.param.u64 %rd0, [k_out];
mov.u32 %r0, %tid.x;
)" + body +
         "\nret;\n}\n";
}

} // namespace dsflash::simt

#endif // DSFLASH_UNITTESTS_SIMT_SIMTTEST_H
