//===- Launch.h - One launch of a kernel ------------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_LAUNCH_H
#define DSFLASH_SIMT_LAUNCH_H

#include "Context.h"
#include "Memory.h"

#include <atomic>
#include <mutex>
#include <set>

namespace dsflash::simt {

class CounterState;

/// What the blocks of a launch share.
struct Launch {
  Launch(const ptx::Module &module, const ptx::Function &kernel,
         const KernelCodeInfo &info, KernelCode code, Memory &memory,
         const Options &options)
      : module(module), kernel(kernel), info(info), code(code), memory(memory),
        options(options), executed(info.basicBlocks.size()) {}

  const ptx::Module &module;
  const ptx::Function &kernel;
  const KernelCodeInfo &info;
  KernelCode code;
  Memory &memory;
  const Options &options;
  Dim3 grid, block;
  uint32_t staticShared = 0, dynamicShared = 0;
  std::vector<uint8_t> parameters;
  uint32_t number = 0; ///< of this launch on its device, from 1
  CounterState *counters = nullptr;
  std::vector<uint64_t> executed; ///< times that each basic block ran

  std::atomic<bool> stopped{false}; ///< no further block starts
  bool outOfMemory = false;

  /// Adds a fault, once for each site and kind. `who` may be null.
  void fault(const ThreadContext *who, const Site &site,
             const std::string &kind, const std::string &why);
  Status takeFaults();
  /// "kernel:line (file:line:column)".
  std::string where(const Site &site) const;

private:
  std::mutex mutex;
  std::set<std::pair<const ptx::Instruction *, std::string>> known;
  Status faults;
};

/// Runs all blocks.
void runLaunch(Launch &launch);

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_LAUNCH_H
