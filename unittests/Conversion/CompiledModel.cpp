//===- CompiledModel.cpp - Model IR that tests can call -------------------===//

#include "CompiledModel.h"
#include "dsflash/ABI/KernelArguments.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Target/NativeCode.h"
#include "dsflash/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dsflash_test;

extern "C" const dsf_device *dsf_device_open(const char *options);

Floats dsflash_test::randomFloats(std::mt19937 &random, size_t count,
                                  float limit) {
  std::uniform_real_distribution<float> values(-limit, limit);
  Floats result(count);
  for (float &value : result)
    value = values(random);
  return result;
}

Rows::Rows(std::vector<std::pair<int32_t, int32_t>> sequences) {
  for (auto [first, count] : sequences) {
    extents.push_back(int32_t(size()));
    extents.push_back(count);
    for (int32_t i = 0; i < count; ++i) {
      sequence.push_back(int32_t(extents.size() / 2 - 1));
      position.push_back(first + i);
    }
  }
}

State::State(const dsf_module &module)
    : module(module), bytes(module.state_bytes) {}

unsigned char *State::plane(const std::string &name) {
  for (int64_t i = 0; i < module.state_count; ++i)
    if (name == module.states[i].name)
      return bytes.data() + module.states[i].offset;
  ADD_FAILURE() << "no state " << name;
  return nullptr;
}

namespace {
std::string compile(const std::string &text, const std::string &device) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<mlir::dsflash::DSFlashDialect>();
  mlir::dsflash::registerBufferizableOpInterfaceExternalModels(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  auto target = llvm::cantFail(mlir::dsflash::CPUTarget::parse("cpu"));
  mlir::dsflash::LLVMPipelineOptions options;
  options.triple = target.getTriple().str();
  options.features = target.getFeatureList();
  options.device = device;
  mlir::dsflash::KernelsPipelineOptions kernels;
  kernels.device = device;
  PassManager passes(&context);
  mlir::dsflash::buildKernelsPipeline(passes, kernels);
  mlir::dsflash::buildLLVMPipeline(passes, options);
  if (!module || failed(passes.run(*module)))
    llvm::report_fatal_error("the model does not compile");
  return llvm::cantFail(mlir::dsflash::translateToLLVMIR(*module, target));
}

void runBackwards(void *user, dsf_task task, void *context, int64_t count) {
  int64_t piece = *static_cast<int64_t *>(user);
  for (int64_t end = count; end > 0; end -= piece)
    task(context, std::max<int64_t>(end - piece, 0), end);
}

int64_t getBytes(const dsf_tensor &tensor, const Rows &rows) {
  int64_t count =
      tensor.dim == DSF_DIM_SEQUENCES ? rows.sequences() : rows.size();
  int64_t element = tensor.type == DSF_I64    ? 8
                    : tensor.type == DSF_BF16 ? 2
                                              : 4;
  return count * tensor.row_elements * element;
}

/// Memory of a device during a run.
class DeviceMemory {
public:
  explicit DeviceMemory(const dsf_device &device) : device(device) {}
  ~DeviceMemory() {
    for (const Copy &copy : copies)
      check(device.release(device.user, copy.address));
  }

  /// A copy of `data`, which `bringBack` updates unless it is only read.
  void *add(const char *name, void *data, int64_t bytes,
            dsf_access access = DSF_READ) {
    void *address = nullptr;
    check(device.allocate(device.user, name, bytes, access, &address));
    if (data)
      check(device.copy(device.user, address, data, bytes));
    copies.push_back({address, access == DSF_READ ? nullptr : data, bytes});
    return address;
  }
  template <typename T> void *add(const char *name, std::vector<T> &data) {
    return add(name, data.data(), int64_t(data.size() * sizeof(T)));
  }
  void bringBack() {
    for (const Copy &copy : copies)
      if (copy.data)
        check(device.copy(device.user, copy.data, copy.address, copy.bytes));
  }

private:
  struct Copy {
    void *address, *data;
    int64_t bytes;
  };
  static void check(const char *fault) { EXPECT_EQ(fault, nullptr) << fault; }

  const dsf_device &device;
  std::vector<Copy> copies;
};

struct LaunchContext {
  const dsf_device &device;
  const dsf_module &module;
  void *call; // the device's
};

void launch(void *user, int32_t number, int64_t items, const void *arguments,
            int64_t argumentBytes) {
  auto &context = *static_cast<LaunchContext *>(user);
  const dsf_kernel &kernel = context.module.kernels[number];
  std::vector<char> all;
  ::dsflash::joinKernelArguments(kernel, context.call, arguments, argumentBytes,
                                 all);
  const char *fault = context.device.launch(context.device.user, &kernel, items,
                                            all.data(), int64_t(all.size()));
  EXPECT_EQ(fault, nullptr) << fault;
}
} // namespace

std::string dsflash_test::getTestedDevice() {
  const char *device = std::getenv("DSFLASH_TEST_PTX");
  return device ? device : "";
}

CompiledModel::CompiledModel(const std::string &text,
                             const std::string &deviceName,
                             const char *deviceOptions) {
  llvm::SmallString<64> path;
  if (llvm::sys::fs::createTemporaryFile("dsflash", "so", path))
    llvm::report_fatal_error("no temporary file");
  llvm::cantFail(
      mlir::dsflash::emitSharedObject(compile(text, deviceName), "test", path));
  library = dlopen(path.c_str(), RTLD_NOW);
  llvm::sys::fs::remove(path);
  if (!library)
    llvm::report_fatal_error(dlerror());
  auto query = reinterpret_cast<dsf_module_query_function>(
      dlsym(library, DSF_MODULE_QUERY_SYMBOL));
  module = query();
  if (deviceName.empty())
    return;
  device = dsf_device_open(deviceOptions);
  const dsf_device_code *code = nullptr;
  if (const char *fault = device->load(device->user, module, &code))
    llvm::report_fatal_error(fault);
}

CompiledModel::~CompiledModel() {
  if (device)
    device->close(device->user);
  dlclose(library);
}

void CompiledModel::run(const Rows &rows, std::vector<State *> states,
                        std::map<std::string, void *> tensors) {
  auto bind = [&](const char *name, const Ints &values) {
    tensors[name] = const_cast<int32_t *>(values.data());
  };
  bind("sequence", rows.sequence);
  bind("position", rows.position);
  bind("extents", rows.extents);
  const dsf_entry &entry = module->entries[0];
  std::vector<void *> buffers;
  for (int64_t i = 0; i < entry.tensor_count; ++i) {
    auto found = tensors.find(entry.tensors[i].name);
    ASSERT_NE(found, tensors.end()) << entry.tensors[i].name;
    buffers.push_back(found->second);
  }
  if (device)
    runOnDevice(rows, states, buffers);
  else
    runOnHost(rows, states, buffers);
}

void CompiledModel::runOnHost(const Rows &rows,
                              const std::vector<State *> &states,
                              const std::vector<void *> &buffers) {
  const dsf_entry &entry = module->entries[0];
  std::vector<void *> addresses;
  for (State *state : states)
    addresses.push_back(state->data());

  // Whatever is read before it is written shows as NaN.
  constexpr size_t alignment = 64;
  size_t bytes = entry.workspace_row_bytes * rows.size() +
                 entry.workspace_fixed_bytes + alignment;
  std::vector<unsigned char> workspace(bytes, 0xff);
  auto start = reinterpret_cast<uintptr_t>(workspace.data());

  dsf_env env = {&piece, runBackwards, nullptr, nullptr, nullptr, nullptr};
  dsf_call call = {&env,
                   weights.data(),
                   addresses.data(),
                   buffers.data(),
                   reinterpret_cast<void *>(llvm::alignTo(start, alignment)),
                   {rows.size(), rows.sequences(), 0}};
  EXPECT_EQ(entry.function(&call), 0);
}

void CompiledModel::runOnDevice(const Rows &rows,
                                const std::vector<State *> &states,
                                const std::vector<void *> &buffers) {
  const dsf_entry &entry = module->entries[0];
  DeviceMemory memory(*device);
  std::vector<void *> addresses, tensors, slots;
  for (State *state : states)
    addresses.push_back(memory.add("state", state->data(),
                                   int64_t(state->size()), DSF_READ_WRITE));
  for (int64_t i = 0; i < entry.tensor_count; ++i)
    tensors.push_back(memory.add(entry.tensors[i].name, buffers[i],
                                 getBytes(entry.tensors[i], rows),
                                 dsf_access(entry.tensors[i].access)));
  for (int64_t i = 0; i < module->weight_count; ++i) {
    const dsf_weight &weight = module->weights[i];
    int64_t bytes = weight.type == DSF_BF16 ? 2 : 4;
    slots.push_back(memory.add(weight.tensor, const_cast<void *>(weights[i]),
                               weight.rows * weight.columns * bytes));
  }
  void *workspace = memory.add("workspace", nullptr,
                               entry.workspace_row_bytes * rows.size() +
                                   entry.workspace_fixed_bytes,
                               DSF_READ_WRITE);
  LaunchContext context{*device, *module, nullptr};
  dsf_env env = {};
  env.user = &context;
  env.launch = launch;
  dsf_call call = {&env,
                   static_cast<const void **>(memory.add("weights", slots)),
                   static_cast<void **>(memory.add("states", addresses)),
                   tensors.data(),
                   workspace,
                   {rows.size(), rows.sequences(), 0}};
  context.call = memory.add("call", &call, sizeof(call));
  EXPECT_EQ(entry.function(&call), 0);
  memory.bringBack();
}
