//===- CpuFeaturesTest.cpp ------------------------------------------------===//

#include "dsflash/Runtime/CpuFeatures.h"

#include "gtest/gtest.h"

using namespace dsflash;

namespace {

using Names = std::vector<std::string>;

TEST(CpuFeatures, NothingAskedNothingMissing) {
  EXPECT_EQ(missingCpuFeatures(""), Names());
  EXPECT_EQ(missingCpuFeatures("-avx512f, ,"), Names());
}

TEST(CpuFeatures, UnknownNamesAreMissing) {
  EXPECT_EQ(missingCpuFeatures("+no-such-unit,nor-this"),
            (Names{"no-such-unit", "nor-this"}));
}

#if defined(__x86_64__)
TEST(CpuFeatures, BaselineIsThere) {
  EXPECT_EQ(missingCpuFeatures("64bit,cmov,cx8,fxsr,mmx,sse,sse2,x87"),
            Names());
}

// The compiler's own test for the same processor.
TEST(CpuFeatures, AgreesWithTheCompiler) {
  EXPECT_EQ(missingCpuFeatures("avx2").empty(),
            bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(missingCpuFeatures("fma").empty(),
            bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(missingCpuFeatures("bmi2").empty(),
            bool(__builtin_cpu_supports("bmi2")));
  EXPECT_EQ(missingCpuFeatures("avx512f").empty(),
            bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(missingCpuFeatures("avx512vnni").empty(),
            bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(missingCpuFeatures("avx512bf16").empty(),
            bool(__builtin_cpu_supports("avx512bf16")));
}
#endif

} // namespace
