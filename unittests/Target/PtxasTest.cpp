//===- PtxasTest.cpp - What ptxas says of kernels -------------------------===//

#include "dsflash/Target/DeviceCode.h"
#include <gtest/gtest.h>

using namespace mlir::dsflash;

// As ptxas 13.0 writes it, a kernel with a call and one with spills.
TEST(Ptxas, ResourcesOfKernels) {
  llvm::StringMap<KernelResources> resources = parseResources(R"(
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'norm' for 'sm_90a'
ptxas info    : Function properties for norm
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compile time = 3.000 ms
ptxas info    : Function properties for helper
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Compiling entry function 'product' for 'sm_90a'
ptxas info    : Function properties for product
    24 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 24 bytes cumulative stack size
)");
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources["norm"].registers, 40);
  EXPECT_EQ(resources["norm"].spills, 0);
  EXPECT_EQ(resources["norm"].sharedMemory, 1024);
  EXPECT_EQ(resources["product"].registers, 255);
  EXPECT_EQ(resources["product"].spills, 44);
  EXPECT_EQ(resources["product"].sharedMemory, 0);
}
