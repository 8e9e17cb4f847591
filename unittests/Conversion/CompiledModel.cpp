//===- CompiledModel.cpp - Model IR that tests can call -------------------===//

#include "CompiledModel.h"
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
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dsflash_test;

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
std::string compile(const std::string &text) {
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
  PassManager passes(&context);
  mlir::dsflash::buildKernelsPipeline(passes, {});
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
} // namespace

CompiledModel::CompiledModel(const std::string &text) {
  llvm::SmallString<64> path;
  if (llvm::sys::fs::createTemporaryFile("dsflash", "so", path))
    llvm::report_fatal_error("no temporary file");
  llvm::cantFail(mlir::dsflash::emitSharedObject(compile(text), "test", path));
  library = dlopen(path.c_str(), RTLD_NOW);
  llvm::sys::fs::remove(path);
  if (!library)
    llvm::report_fatal_error(dlerror());
  auto query = reinterpret_cast<dsf_module_query_function>(
      dlsym(library, DSF_MODULE_QUERY_SYMBOL));
  module = query();
}

CompiledModel::~CompiledModel() { dlclose(library); }

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
