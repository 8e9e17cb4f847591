//===- MachineLoops.h - Loops that use one unit to the full -----*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_MACHINELOOPS_H
#define DSFLASH_LIB_BENCH_MACHINELOOPS_H

#include <cstddef>
#include <cstdint>

namespace dsflash {

/// A loop over registers alone, for a fraction of a millisecond.
struct MultiplyLoop {
  /// Null if the processor has no instruction for it. The result says nothing.
  float (*run)() = nullptr;
  /// Multiplications and additions of one call.
  double operations = 0;
};

// The fastest loops of this processor.
MultiplyLoop fp32Loop();
MultiplyLoop bf16Loop();
MultiplyLoop int8Loop();

/// Reads `bytes`, a multiple of 256, as four streams of a quarter each. The
/// result says nothing.
uint64_t readStreams(const void *data, size_t bytes);

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_MACHINELOOPS_H
