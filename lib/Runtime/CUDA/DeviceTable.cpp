//===- DeviceTable.cpp - The device ABI of a GPU --------------------------===//

#include "dsflash/ABI/DeviceTable.h"
#include "CudaDevice.h"

extern "C" const dsf_device *dsf_device_open(const char *options) {
  return dsflash::DeviceTable<dsflash::cuda::CudaDevice>::open(options);
}
