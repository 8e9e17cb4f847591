//===- Simt.h - Runs PTX kernels on the host --------------------*- C++ -*-===//
//
// A device that takes the PTX text that ptxas would get, translates it to host
// code in process and runs its kernels with the threads, warps and blocks of a
// GPU. It finds faults that a GPU passes over in silence, and it counts what a
// kernel does. docs/Simt.md says what is modelled.
//
// Device addresses are host addresses. A device and its modules are used by
// one thread at a time; a device outlives its modules.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_SIMT_H
#define DSFLASH_SIMT_SIMT_H

#include "dsflash/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash::simt {

/// Extents of a grid or of a block.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// Order in which blocks, the warps of a block and the lanes of a warp run
/// wherever the program leaves it open.
enum class Order { Forward, Reverse, Random };

/// How kernels run. May change between launches.
struct Options {
  /// Finds faults: addresses, alignment, undefined values, races, waits.
  bool checks = true;
  /// Fills Device::counters().
  bool counters = false;
  Order order = Order::Forward;
  /// Of Order::Random.
  uint64_t seed = 0;
  /// Host threads over the blocks of a launch without checks and counters; 0:
  /// one a core. With checks or counters one thread runs all blocks.
  unsigned threads = 0;
  /// Backward branches of one thread after which it counts as endless, with
  /// checks on.
  uint64_t maxBackwardBranches = uint64_t(1) << 32;
};

/// Classes of instructions that are counted, one a thread (of a warp
/// instruction: one a lane).
enum class InstructionClass {
  Integer,
  Float,
  Special, ///< approximate functions, division and roots
  Convert,
  Move, ///< moves, selections, predicates
  Control,
  Memory,
  Warp,    ///< shuffles, votes and other exchanges within a warp
  Barrier, ///< barriers and fences
  Tensor,  ///< mma
};
constexpr size_t kInstructionClasses = 10;
/// "integer", "float", ...
const char *instructionClassName(InstructionClass kind);

/// What launches of one name did, summed until Device::resetCounters().
struct Counters {
  uint64_t launches = 0;
  uint64_t threads = 0;
  uint64_t instructions[kInstructionClasses] = {};
  /// Floating-point operations of the tensor cores: 2 a multiply-add.
  uint64_t tensorFlops = 0;
  /// Bytes of all global accesses, one lane each.
  uint64_t globalReadBytes = 0, globalWrittenBytes = 0;
  /// Bytes of global memory read or written at least once, each launch apart.
  uint64_t uniqueReadBytes = 0, uniqueWrittenBytes = 0;
  /// Warp-wide global accesses, the 32-byte sectors that they touch and the
  /// least number that would hold their distinct bytes.
  uint64_t globalRequests = 0, globalSectors = 0, idealSectors = 0;
  /// Warp-wide shared accesses, the passes of the 32 banks that they take and
  /// the least number that would move their bytes.
  uint64_t sharedRequests = 0, sharedPasses = 0, idealPasses = 0;
};

/// Device memory, options and results of the launches on it.
class Device {
public:
  explicit Device(Options options = {});
  ~Device();
  Device(Device &&) noexcept;
  Device &operator=(Device &&) noexcept;

  /// New memory, 256-byte aligned, undefined until it is written; `name` is
  /// used in faults. 0 bytes give an address that may not be touched. A kernel
  /// that writes where `writable` is false is at fault. Error: no memory.
  Result<uint64_t> allocate(size_t bytes, std::string name,
                            bool writable = true);
  /// Error: not the address of an allocation.
  Status release(uint64_t address);
  /// Lets kernels use memory of the host at its own address, for as long as
  /// it is not released. Error: it overlaps another range.
  Status mapHost(const void *data, size_t bytes, bool writable,
                 std::string name);

  /// Copies to or from device memory. Error: outside every allocation.
  Status write(uint64_t address, const void *data, size_t bytes);
  Status read(uint64_t address, void *data, size_t bytes) const;
  Status fill(uint64_t address, uint8_t value, size_t bytes);

  Options &options();
  /// By the name that launches were counted as.
  const std::map<std::string, Counters> &counters() const;
  void resetCounters();

  struct Impl;
  Impl &impl() const { return *implementation; }

private:
  std::unique_ptr<Impl> implementation;
};

/// One parameter of a kernel, in the order of its PTX.
struct Parameter {
  std::string name;
  uint32_t bytes = 0;
  uint32_t alignment = 1;
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  /// Bytes of its own `.shared` variables.
  uint32_t sharedBytes = 0;
  /// `.maxntid`, or 0.
  Dim3 maxThreads = {0, 0, 0};
};

/// A loaded PTX module. Kernels become host code when they are first launched.
class Module {
public:
  /// `name` is used in errors. Errors: "name:line: why" for text that is no
  /// PTX, and for every instruction that is not modelled.
  static Result<Module> load(Device &device, std::string_view ptx,
                             std::string name);
  ~Module();
  Module(Module &&) noexcept;
  Module &operator=(Module &&) noexcept;

  std::vector<KernelInfo> kernels() const;
  /// Null if there is none of that name.
  const KernelInfo *kernel(std::string_view name) const;
  /// Address of a `.global` or `.const` variable, or 0.
  uint64_t variable(std::string_view name) const;

  /// Runs a kernel to its end. `arguments[i]` points at the value of parameter
  /// i, as for cuLaunchKernel; `dynamicSharedBytes` follow the kernel's own
  /// shared memory. Counters go to the name `countedAs`, the kernel's own if
  /// that is empty. A grid or block with an extent of 0 is an error, as on a
  /// device. Errors: no such kernel, limits of a launch, and with checks every
  /// fault found, "kernel:line (file:line:column): why".
  Status launch(std::string_view kernel, Dim3 grid, Dim3 block,
                uint32_t dynamicSharedBytes, const void *const *arguments,
                std::string_view countedAs = {});

  struct Impl;

private:
  explicit Module(std::unique_ptr<Impl> implementation);
  std::unique_ptr<Impl> implementation;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_SIMT_H
