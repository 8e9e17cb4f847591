//===- KernelNames.h - Which kernel a task is -------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_KERNELNAMES_H
#define DSFLASH_LIB_BENCH_KERNELNAMES_H

#include "dsflash/ABI/ModuleABI.h"

#include <cstdint>
#include <map>
#include <string>

namespace dsflash {

/// Names from the symbol table of the model's library. The file is read at the
/// first question.
class KernelNames {
public:
  /// The kernel of a task, or its address in the library if that has no
  /// symbols.
  std::string name(dsf_task task);

private:
  void read(const char *path);

  bool wasRead = false;
  /// By the offset in the library.
  std::map<uint64_t, std::string> names;
};

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_KERNELNAMES_H
