//===- DriverTypesTest.cpp - Our declarations against cuda.h --------------===//
//
// Built where there is a toolkit.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/CUDA/Driver.h"

#include <cuda.h>
#include <gtest/gtest.h>

namespace ours = dsflash::cuda;

TEST(CudaDriverTypes, AreThoseOfTheToolkit) {
#define EXPECT_SAME(NAME) EXPECT_EQ(int(ours::NAME), int(::NAME)) << #NAME
  EXPECT_SAME(CUDA_ERROR_NOT_FOUND);
  EXPECT_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_SAME(CU_STREAM_NON_BLOCKING);
  EXPECT_SAME(CU_EVENT_DISABLE_TIMING);
  EXPECT_SAME(CU_EVENT_WAIT_DEFAULT);
  EXPECT_SAME(CU_EVENT_WAIT_EXTERNAL);
  EXPECT_SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_SAME(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
  EXPECT_SAME(CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_SAME(CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_SAME(CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_SAME(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  EXPECT_SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
#undef EXPECT_SAME
  EXPECT_EQ(sizeof(ours::CUmemAllocationProp), sizeof(::CUmemAllocationProp));
  EXPECT_EQ(offsetof(ours::CUmemAllocationProp, location),
            offsetof(::CUmemAllocationProp, location));
  EXPECT_EQ(offsetof(ours::CUmemAllocationProp, allocFlags),
            offsetof(::CUmemAllocationProp, allocFlags));
  EXPECT_EQ(sizeof(ours::CUmemAccessDesc), sizeof(::CUmemAccessDesc));
  EXPECT_EQ(offsetof(ours::CUmemAccessDesc, flags),
            offsetof(::CUmemAccessDesc, flags));
}
