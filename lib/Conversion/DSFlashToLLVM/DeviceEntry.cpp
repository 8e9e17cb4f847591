//===- DeviceEntry.cpp - Kernels as a device starts them ------------------===//

#include "DeviceEntry.h"
#include "LaunchTasks.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

static bool isPTXName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string mlir::dsflash::getKernelBodyName(StringRef kernel) {
  return (kernel + ".body").str();
}

/// A special register in 64 bits.
template <typename RegisterOp> static Value readRegister(ABIBuilder &b) {
  Value value = RegisterOp::create(b, b.getI32Type());
  return LLVM::ZExtOp::create(b, b.getI64Type(), value);
}

static Value multiply(ABIBuilder &b, Value x, Value y) {
  return LLVM::MulOp::create(b, x, y);
}

/// The entry's loop: %i from the number of the thread, or of the block where
/// that runs an item together, to %items by how many of them there are.
static void addLoop(ABIBuilder &b, LLVM::LLVMFuncOp entry, bool isBlock,
                    llvm::function_ref<void(Value)> addBody) {
  Value items = entry.getArgument(1);
  Value first, step;
  if (isBlock) {
    first = readRegister<NVVM::BlockIdXOp>(b);
    step = readRegister<NVVM::GridDimXOp>(b);
  } else {
    Value blockSize = readRegister<NVVM::BlockDimXOp>(b);
    first = b.add(multiply(b, readRegister<NVVM::BlockIdXOp>(b), blockSize),
                  readRegister<NVVM::ThreadIdXOp>(b));
    step = multiply(b, readRegister<NVVM::GridDimXOp>(b), blockSize);
  }
  Block *start = b.getInsertionBlock();
  Block *head = b.createBlock(&entry.getBody(), {}, b.getI64Type(), b.getLoc());
  Block *body = b.createBlock(&entry.getBody());
  Block *end = b.createBlock(&entry.getBody());
  b.setInsertionPointToEnd(start);
  LLVM::BrOp::create(b, first, head);
  b.setInsertionPointToEnd(head);
  Value item = head->getArgument(0);
  Value isItem = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::slt, item, items);
  LLVM::CondBrOp::create(b, isItem, body, end);
  b.setInsertionPointToEnd(body);
  addBody(item);
  LLVM::BrOp::create(b, b.add(item, step), head);
  b.setInsertionPointToEnd(end);
  LLVM::ReturnOp::create(b, ValueRange());
}

LogicalResult
mlir::dsflash::addDeviceEntry(func::FuncOp kernel,
                              const LLVMTypeConverter &converter) {
  std::string name = kernel.getName().str();
  if (!isPTXName(name))
    return kernel.emitError("a kernel of a device has a name of letters, "
                            "digits and '_', not '")
           << name << "'";
  ABIBuilder b(kernel.getLoc(), kernel.getContext());
  b.setInsertionPointAfter(kernel);
  kernel.setSymName(getKernelBodyName(name));

  SmallVector<Type> fields{b.pointer(), b.getI64Type()};
  llvm::append_range(fields, getOperandFields(kernel, converter));
  auto entry = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  fields));
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  auto block = kernel->getAttrOfType<BlockAttr>(blockAttrName);
  if (block) {
    entry->setAttr(
        NVVM::NVVMDialect::getMaxntidAttrName(),
        b.getDenseI32ArrayAttr({static_cast<int32_t>(block.getThreads())}));
    // Without it ptxas keeps registers back for blocks that shared memory has
    // no room for, and spills.
    entry->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                   b.getI32IntegerAttr(1));
  }
  b.setInsertionPointToStart(entry.addEntryBlock(b));
  addLoop(b, entry, bool(block), [&](Value item) {
    SmallVector<Value> arguments{entry.getArgument(0), item,
                                 b.add(item, b.i64(1))};
    auto *field = entry.getArguments().drop_front(2).begin();
    appendOperands(b, kernel, [&]() -> Value { return *field++; }, arguments);
    LLVM::CallOp::create(b, TypeRange(), kernel.getName(), arguments);
  });
  return success();
}

/// Reads of tensors that an entry gets and leaves as they are: ModuleLayout
/// finds them, and the runtime has these where the host can read.
static bool readsInput(Operation *op, func::FuncOp function) {
  auto load = dyn_cast<memref::LoadOp>(op);
  auto argument =
      load ? dyn_cast<BlockArgument>(load.getMemRef()) : BlockArgument();
  return argument && function.isPublic() &&
         argument.getOwner() == &function.front() &&
         !writesArgument(function, argument.getArgNumber());
}

LogicalResult mlir::dsflash::checkHostCode(ModuleOp module,
                                           const ModuleLayout &layout) {
  llvm::SetVector<func::FuncOp> functions;
  for (const Entry &entry : layout.entries)
    functions.insert(entry.function);
  bool failures = false;
  for (size_t i = 0; i < functions.size(); ++i) {
    func::FuncOp function = functions[i];
    function.walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
          functions.insert(callee);
      } else if (isa<memref::LoadOp, memref::StoreOp, memref::CopyOp,
                     vector::LoadOp, vector::StoreOp, vector::TransferReadOp,
                     vector::TransferWriteOp>(op) &&
                 !readsInput(op, function)) {
        op->emitError("the host may not look at data of a device");
        failures = true;
      }
    });
  }
  return failure(failures);
}
