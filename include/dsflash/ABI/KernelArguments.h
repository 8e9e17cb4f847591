//===- KernelArguments.h - What an entry takes ------------------*- C++ -*-===//

#ifndef DSFLASH_ABI_KERNELARGUMENTS_H
#define DSFLASH_ABI_KERNELARGUMENTS_H

#include "dsflash/ABI/ModuleABI.h"

#include <cstring>
#include <vector>

namespace dsflash {

/// Fills `all` with the parameters of the kernel's entry: the device's address
/// of the call in the place of the host's, the other arguments of
/// dsf_env.launch and the kernel's constants. The arguments are a structure
/// that starts with an address, so constants are aligned behind them.
inline void joinKernelArguments(const dsf_kernel &kernel, const void *call,
                                const void *arguments, int64_t argumentBytes,
                                std::vector<char> &all) {
  auto append = [&](const void *values, int64_t bytes) {
    auto *first = static_cast<const char *>(values);
    all.insert(all.end(), first, first + bytes);
  };
  all.clear();
  append(arguments, argumentBytes);
  append(kernel.constants, kernel.constant_count * int64_t(sizeof(int64_t)));
  std::memcpy(all.data(), &call, sizeof(call));
}

} // namespace dsflash

#endif // DSFLASH_ABI_KERNELARGUMENTS_H
