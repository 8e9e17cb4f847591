//===- Module.cpp - Loaded modules and their launches ---------------------===//

#include "DeviceImpl.h"
#include "JIT.h"
#include "Runtime/Block.h"
#include "Runtime/Counting.h"
#include "Translate/Translator.h"

#include <algorithm>
#include <cstring>

namespace dsflash::simt {

// Limits of a launch on every device from sm_80 on (CUDA programming guide,
// technical specifications per compute capability).
static constexpr uint32_t kMaxBlockThreads = 1024;
static constexpr Dim3 kMaxBlock = {1024, 1024, 64};
static constexpr Dim3 kMaxGrid = {0x7fffffff, 65535, 65535};
static constexpr uint32_t kMaxSharedBytes = 227 << 10;

struct Module::Impl {
  struct Kernel {
    const ptx::Function *function = nullptr;
    KernelInfo info;
    KernelLayout layout;
    std::unique_ptr<CompiledKernel> compiled[2]; ///< plain, instrumented
  };

  explicit Impl(Device &device) : device(device) {}
  ~Impl() {
    for (uint64_t address : owned)
      (void)device.impl().memory.release(address);
  }

  Status createVariables();
  Status createKernels();
  Status run(Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
             const void *const *arguments, std::string_view countedAs);

  Device &device;
  ptx::Module module;
  JIT jit;
  std::vector<uint64_t> addresses; ///< by variable; 0 for `.shared`
  std::vector<uint64_t> owned;
  std::map<std::string, Kernel, std::less<>> kernels;
};

Module::Module(std::unique_ptr<Impl> implementation)
    : implementation(std::move(implementation)) {}
Module::~Module() = default;
Module::Module(Module &&) noexcept = default;
Module &Module::operator=(Module &&) noexcept = default;

Status Module::Impl::createVariables() {
  for (const ptx::Variable &variable : module.variables) {
    addresses.push_back(0);
    if (variable.space != ptx::Space::Global &&
        variable.space != ptx::Space::Const)
      continue;
    Result<uint64_t> address =
        device.allocate(variable.bytes, "variable " + variable.name);
    if (!address)
      return address.status();
    owned.push_back(*address);
    addresses.back() = *address;
    std::memset(reinterpret_cast<void *>(*address), 0, variable.bytes);
    std::memcpy(reinterpret_cast<void *>(*address), variable.initial.data(),
                variable.initial.size());
  }
  return {};
}

// Shared variables lie one behind the other in the order of the module, the
// dynamic ones all behind them.
static KernelLayout
layOut(const ptx::Module &module, const std::vector<uint64_t> &addresses,
       const std::vector<const ptx::Function *> &functions) {
  std::vector<bool> used(module.variables.size(), false);
  auto visit = [&](auto &&self, const ptx::Operand &operand) -> void {
    if (operand.kind == ptx::Operand::Kind::Variable && !operand.local)
      used[operand.index] = true;
    for (const ptx::Operand &element : operand.elements)
      self(self, element);
  };
  for (const ptx::Function *function : functions)
    for (const ptx::Instruction &instruction : function->instructions)
      for (const ptx::Operand &operand : instruction.operands)
        visit(visit, operand);
  KernelLayout layout;
  layout.variables = addresses;
  uint64_t offset = 0, alignment = 16;
  for (bool dynamic : {false, true}) {
    for (size_t i = 0; i < module.variables.size(); ++i) {
      const ptx::Variable &variable = module.variables[i];
      if (!used[i] || variable.space != ptx::Space::Shared ||
          variable.external != dynamic)
        continue;
      uint64_t align = std::max<uint64_t>(variable.alignment, 1);
      alignment = std::max(alignment, align);
      offset = (offset + align - 1) / align * align;
      layout.variables[i] = offset;
      if (!dynamic)
        offset += variable.bytes;
    }
    // Nothing but the dynamic memory follows.
    if (!dynamic)
      offset = (offset + 15) / 16 * 16;
  }
  layout.sharedBytes = uint32_t(std::min<uint64_t>(offset, UINT32_MAX));
  return layout;
}

Status Module::Impl::createKernels() {
  Status errors;
  for (const ptx::Function &function : module.functions) {
    if (!function.isKernel || function.isDeclaration)
      continue;
    auto functions = reachableFunctions(module, function);
    if (!functions) {
      errors.add(functions.status());
      continue;
    }
    Kernel &kernel = kernels[function.name];
    kernel.function = &function;
    kernel.layout = layOut(module, addresses, *functions);
    kernel.info.name = function.name;
    kernel.info.sharedBytes = kernel.layout.sharedBytes;
    kernel.info.maxThreads = function.maxThreads;
    for (unsigned i = 0; i < function.parameters; ++i)
      kernel.info.parameters.push_back({function.variables[i].name,
                                        uint32_t(function.variables[i].bytes),
                                        function.variables[i].alignment});
    errors.add(checkTranslation(module, function, kernel.layout));
  }
  return errors;
}

Result<Module> Module::load(Device &device, std::string_view ptx,
                            std::string name) {
  Result<ptx::Module> parsed = ptx::parse(ptx, std::move(name));
  if (!parsed)
    return parsed.status();
  auto implementation = std::make_unique<Impl>(device);
  implementation->module = std::move(*parsed);
  if (Status status = implementation->createVariables(); !status)
    return status;
  if (Status status = implementation->createKernels(); !status)
    return status;
  return Module(std::move(implementation));
}

std::vector<KernelInfo> Module::kernels() const {
  std::vector<KernelInfo> list;
  for (const auto &[name, kernel] : implementation->kernels)
    list.push_back(kernel.info);
  return list;
}

const KernelInfo *Module::kernel(std::string_view name) const {
  auto found = implementation->kernels.find(name);
  return found == implementation->kernels.end() ? nullptr : &found->second.info;
}

uint64_t Module::variable(std::string_view name) const {
  for (size_t i = 0; i < implementation->module.variables.size(); ++i)
    if (implementation->module.variables[i].name == name)
      return implementation->addresses[i];
  return 0;
}

static Status checkLaunch(const KernelInfo &kernel, Dim3 grid, Dim3 block,
                          uint64_t sharedBytes) {
  auto text = [](Dim3 extent) {
    return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) +
           ", " + std::to_string(extent.z) + ")";
  };
  auto fits = [](Dim3 extent, Dim3 limit) {
    return extent.x && extent.y && extent.z && extent.x <= limit.x &&
           extent.y <= limit.y && extent.z <= limit.z;
  };
  Status status;
  if (!fits(grid, kMaxGrid))
    status.add(kernel.name, "a grid cannot be " + text(grid) + " blocks");
  if (!fits(block, kMaxBlock) || block.count() > kMaxBlockThreads)
    status.add(kernel.name, "a block cannot be " + text(block) + " threads");
  else if (kernel.maxThreads.x && block.count() > kernel.maxThreads.count())
    status.add(kernel.name, "a block of " + text(block) +
                                " threads exceeds .maxntid " +
                                text(kernel.maxThreads));
  if (sharedBytes > kMaxSharedBytes)
    status.add(kernel.name, std::to_string(sharedBytes) +
                                " bytes of shared memory exceed " +
                                std::to_string(kMaxSharedBytes));
  return status;
}

Status Module::Impl::run(Kernel &kernel, Dim3 grid, Dim3 block,
                         uint32_t dynamicShared, const void *const *arguments,
                         std::string_view countedAs) {
  Options &options = device.options();
  bool instrumented = options.checks || options.counters;
  std::unique_ptr<CompiledKernel> &compiled = kernel.compiled[instrumented];
  if (!compiled) {
    Result<CompiledKernel> made =
        jit.compile(module, *kernel.function, kernel.layout, instrumented);
    if (!made)
      return made.status();
    compiled = std::make_unique<CompiledKernel>(std::move(*made));
  }
  Device::Impl &impl = device.impl();
  Launch launch(module, *kernel.function, compiled->info, compiled->code,
                impl.memory, options);
  launch.grid = grid;
  launch.block = block;
  launch.staticShared = kernel.layout.sharedBytes;
  launch.dynamicShared = dynamicShared;
  launch.number = ++impl.launches;
  std::vector<uint32_t> offsets = parameterOffsets(*kernel.function);
  launch.parameters.resize(offsets.back() + 16);
  for (size_t i = 0; i < kernel.info.parameters.size(); ++i)
    std::memcpy(launch.parameters.data() + offsets[i], arguments[i],
                kernel.info.parameters[i].bytes);
  std::unique_ptr<CounterState> counting;
  if (options.counters) {
    Counters &counters = impl.counters[std::string(countedAs)];
    ++counters.launches;
    counters.threads += grid.count() * block.count();
    counting = std::make_unique<CounterState>(counters);
    launch.counters = counting.get();
  }
  runLaunch(launch);
  if (counting)
    counting->finishLaunch(compiled->info, launch.executed);
  if (launch.outOfMemory)
    return Status::error(kernel.info.name, "out of memory for its threads");
  return launch.takeFaults();
}

Status Module::launch(std::string_view name, Dim3 grid, Dim3 block,
                      uint32_t dynamicSharedBytes, const void *const *arguments,
                      std::string_view countedAs) {
  auto found = implementation->kernels.find(name);
  if (found == implementation->kernels.end())
    return Status::error(std::string(name), "no kernel of this name");
  Impl::Kernel &kernel = found->second;
  if (Status status =
          checkLaunch(kernel.info, grid, block,
                      uint64_t(kernel.layout.sharedBytes) + dynamicSharedBytes);
      !status)
    return status;
  return implementation->run(kernel, grid, block, dynamicSharedBytes, arguments,
                             countedAs.empty() ? name : countedAs);
}

} // namespace dsflash::simt
