//===- DeviceImpl.h - What a device holds -----------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_DEVICEIMPL_H
#define DSFLASH_SIMT_DEVICEIMPL_H

#include "Runtime/Memory.h"

#include "dsflash/Simt/Simt.h"

namespace dsflash::simt {

struct Device::Impl {
  Memory memory;
  Options options;
  std::map<std::string, Counters> counters;
  uint32_t launches = 0;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_DEVICEIMPL_H
