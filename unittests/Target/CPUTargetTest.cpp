//===- CPUTargetTest.cpp - Target specifications --------------------------===//

#include "dsflash/Target/CPUTarget.h"
#include "dsflash/Runtime/CpuFeatures.h"
#include <gtest/gtest.h>

using mlir::dsflash::CPUTarget;

static CPUTarget parse(llvm::StringRef spec) {
  return llvm::cantFail(CPUTarget::parse(spec));
}

static std::string getError(llvm::StringRef spec) {
  auto target = CPUTarget::parse(spec);
  return target ? "" : llvm::toString(target.takeError());
}

TEST(CPUTarget, LevelsOfThePsABI) {
  EXPECT_EQ(parse("cpu:generic").getFeatureList(), "");
  EXPECT_EQ(parse("cpu:x86-64-v3").getFeatureList(),
            "sse3,ssse3,sse4.1,sse4.2,popcnt,movbe,avx,avx2,fma,f16c,bmi,bmi2,"
            "lzcnt");
  EXPECT_EQ(parse("cpu:x86-64-v4").getFeatureList(),
            "sse3,ssse3,sse4.1,sse4.2,popcnt,movbe,avx,avx2,fma,f16c,bmi,bmi2,"
            "lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl");
}

TEST(CPUTarget, FeaturesBringWhatTheyImply) {
  CPUTarget target = parse("cpu:generic,+avx512bf16");
  for (const char *name : {"avx512bf16", "avx512bw", "avx2", "fma"})
    EXPECT_TRUE(target.hasFeature(name)) << name;
  EXPECT_TRUE(parse("cpu:x86-64-v3,avx512f").hasFeature("avx512f"));
  EXPECT_FALSE(parse("cpu:x86-64-v3,-fma").hasFeature("fma"));
  EXPECT_FALSE(parse("cpu:x86-64-v4,-avx512f").hasFeature("avx512bw"));
}

TEST(CPUTarget, ThisMachineHasWhatItAsksFor) {
  CPUTarget target = parse("cpu");
  EXPECT_TRUE(target.getTuneCPU() != "generic");
  EXPECT_EQ(dsflash::missingCpuFeatures(target.getFeatureList()),
            std::vector<std::string>());
}

TEST(CPUTarget, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(getError("gpu"), "unknown target 'gpu'; known: cpu, cpu:x86-64-v2, "
                             "cpu:x86-64-v3, cpu:x86-64-v4, cpu:generic");
  EXPECT_NE(getError("cpu:z80").find("unknown target 'cpu:z80'"),
            std::string::npos);
  EXPECT_NE(getError("cpu,+neon").find("unknown CPU feature 'neon'; known: "),
            std::string::npos);
  EXPECT_NE(getError("cpu,"), "");
  EXPECT_NE(getError(""), "");
}
