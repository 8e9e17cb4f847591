//===- CompiledModule.h - Kernel-level text to running code -----*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_TARGET_COMPILEDMODULE_H
#define DSFLASH_UNITTESTS_TARGET_COMPILEDMODULE_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace dsflash_test {

/// LLVM IR of kernel-level text.
inline std::string getLLVMIR(llvm::StringRef text, llvm::StringRef spec) {
  using namespace mlir;
  DialectRegistry registry;
  registry
      .insert<arith::ArithDialect, mlir::dsflash::DSFlashDialect,
              func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
              memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(text, &context);
  auto target = llvm::cantFail(mlir::dsflash::CPUTarget::parse(spec));
  PassManager passes(&context);
  mlir::dsflash::addDSFlashToLLVMPasses(
      passes, {"test", target.getTriple().str(), target.getFeatureList()});
  if (!module || failed(passes.run(*module)))
    return "";
  return llvm::cantFail(mlir::dsflash::translateToLLVMIR(*module, target));
}

/// A path that is free, in the folder for temporary files.
inline std::string getTemporaryPath() {
  llvm::SmallString<128> path;
  llvm::sys::fs::createTemporaryFile("dsflash", "so", path);
  llvm::sys::fs::remove(path);
  return path.str().str();
}

class CompiledModule {
public:
  CompiledModule(llvm::StringRef text, llvm::StringRef spec)
      : path(getTemporaryPath()) {
    llvm::Error error =
        mlir::dsflash::emitSharedObject(getLLVMIR(text, spec), "test.ll", path);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
    auto query = reinterpret_cast<dsf_module_query_function>(
        dlsym(handle, DSF_MODULE_QUERY_SYMBOL));
    table = query();
  }
  ~CompiledModule() {
    if (handle)
      dlclose(handle);
    llvm::sys::fs::remove(path);
  }
  CompiledModule(const CompiledModule &) = delete;

  const dsf_module &module() const { return *table; }
  const std::string &file() const { return path; }

private:
  std::string path;
  void *handle = nullptr;
  const dsf_module *table = nullptr;
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_TARGET_COMPILEDMODULE_H
