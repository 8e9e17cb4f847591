//===- LaunchTasks.cpp - Operands of a launch to a kernel -----------------===//

#include "LaunchTasks.h"
#include "DeviceEntry.h"

using namespace mlir;
using namespace mlir::dsflash;

std::string mlir::dsflash::getTaskName(StringRef kernel) {
  return (kernel + ".task").str();
}

SmallVector<Type>
mlir::dsflash::getOperandFields(func::FuncOp kernel,
                                const LLVMTypeConverter &converter) {
  MLIRContext *context = kernel.getContext();
  SmallVector<Type> fields;
  for (Type type : kernel.getArgumentTypes().drop_front(3)) {
    auto buffer = dyn_cast<MemRefType>(type);
    fields.push_back(buffer ? LLVM::LLVMPointerType::get(context)
                            : converter.convertType(type));
    if (buffer)
      fields.append(buffer.getNumDynamicDims(), IntegerType::get(context, 64));
  }
  return fields;
}

void mlir::dsflash::appendOperands(ABIBuilder &b, func::FuncOp kernel,
                                   llvm::function_ref<Value()> nextField,
                                   SmallVectorImpl<Value> &arguments) {
  for (Type type : kernel.getArgumentTypes().drop_front(3)) {
    Value value = nextField();
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer) {
      arguments.push_back(value);
      continue;
    }
    SmallVector<Value> sizes;
    for (size_t i = 0; i < buffer.getNumDynamicDims(); ++i)
      sizes.push_back(nextField());
    b.appendBuffer(buffer, value, sizes, arguments);
  }
}

Value mlir::dsflash::getFieldAddress(ABIBuilder &b, Type structure,
                                     Value context, int32_t field) {
  return LLVM::GEPOp::create(b, b.pointer(), structure, context,
                             ArrayRef<LLVM::GEPArg>{0, field});
}

static void addTask(func::FuncOp kernel, const LLVMTypeConverter &converter) {
  ABIBuilder b(kernel.getLoc(), kernel.getContext());
  b.setInsertionPointAfter(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()),
      {b.pointer(), b.getI64Type(), b.getI64Type()});
  auto task = LLVM::LLVMFuncOp::create(b, getTaskName(kernel.getName()), type,
                                       LLVM::Linkage::Internal);
  Block *body = task.addEntryBlock(b);
  b.setInsertionPointToStart(body);

  SmallVector<Type> fields = getOperandFields(kernel, converter);
  fields.insert(fields.begin(), b.pointer());
  auto structure = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  int32_t field = 0;
  auto unpack = [&] {
    Value address = getFieldAddress(b, structure, body->getArgument(0), field);
    return LLVM::LoadOp::create(b, fields[field++], address).getResult();
  };
  SmallVector<Value> arguments{unpack(), body->getArgument(1),
                               body->getArgument(2)};
  appendOperands(b, kernel, unpack, arguments);
  LLVM::CallOp::create(b, TypeRange(), kernel.getName(), arguments);
  LLVM::ReturnOp::create(b, ValueRange());
}

static LogicalResult checkKernel(func::FuncOp kernel) {
  for (Type type : kernel.getArgumentTypes()) {
    auto buffer = dyn_cast<MemRefType>(type);
    if (buffer && !buffer.getLayout().isIdentity())
      return kernel.emitError("a kernel takes buffers of identity layout, not ")
             << type;
  }
  return success();
}

LogicalResult mlir::dsflash::addTasks(ModuleOp module,
                                      const ModuleLayout &layout,
                                      const LLVMTypeConverter &converter) {
  bool onDevice = !layout.device.empty();
  SmallVector<func::FuncOp> kernels;
  SymbolTable symbols(module);
  for (const auto &[name, launch] : layout.kernels)
    kernels.push_back(symbols.lookup<func::FuncOp>(name));
  for (func::FuncOp kernel : kernels) {
    if (failed(checkKernel(kernel)) ||
        (onDevice && failed(addDeviceEntry(kernel, converter))))
      return failure();
    if (!onDevice)
      addTask(kernel, converter);
  }
  for (StringAttr name : layout.hostKernels) {
    auto kernel = symbols.lookup<func::FuncOp>(name);
    if (failed(checkKernel(kernel)))
      return failure();
    addTask(kernel, converter);
  }
  return success();
}
