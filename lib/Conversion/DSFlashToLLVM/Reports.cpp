//===- Reports.cpp - How a check tells the host ---------------------------===//

#include "ABIBuilder.h"
#include "Launches.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::dsflash;

void mlir::dsflash::addReportFunction(ModuleOp module,
                                      const ModuleLayout &layout) {
  if (layout.checks.empty())
    return;
  ABIBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputs{b.pointer(), b.getI32Type()};
  inputs.append(5, b.getI64Type());
  auto function = LLVM::LLVMFuncOp::create(
      b, kReportFunction,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  inputs),
      LLVM::Linkage::Internal);
  function.setNoInline(true);
  // Code that leads to a cold function is laid out apart.
  function.setPassthroughAttr(b.getStrArrayAttr({"cold"}));

  Block *entry = function.addEntryBlock(b);
  Block *told = b.createBlock(&function.getBody());
  Block *done = b.createBlock(&function.getBody());
  LLVM::ReturnOp::create(b, ValueRange());
  b.setInsertionPointToStart(entry);
  Value environment = b.loadField(b.pointer(), function.getArgument(0),
                                  offsetof(dsf_call, env));
  Value report =
      b.loadField(b.pointer(), environment, offsetof(dsf_env, report));
  Value isUsed =
      LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, report, b.null());
  LLVM::CondBrOp::create(b, isUsed, told, done);
  b.setInsertionPointToStart(told);
  b.callEnvironment(environment, report,
                    ValueRange(function.getArguments()).drop_front());
  LLVM::BrOp::create(b, done);
}
