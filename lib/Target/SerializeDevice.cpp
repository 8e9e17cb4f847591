//===- SerializeDevice.cpp - Kernels to PTX inside the host's module ------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/DeviceCode.h"
#include "dsflash/Target/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_SERIALIZEDEVICEPASS
#include "dsflash/Target/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static LogicalResult reportError(Operation *op, llvm::Error error) {
  return op->emitError(llvm::toString(std::move(error)));
}

namespace {

/// Alignment of a cubin, an ELF file.
constexpr uint64_t kCubinAlignment = 64;

/// Defines the table of the codes behind the module's other globals.
class CodeTable {
public:
  explicit CodeTable(ModuleOp module)
      : b(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())) {
    pointer = LLVM::LLVMPointerType::get(b.getContext());
  }

  void define(ArrayRef<NVPTXTarget> targets, ArrayRef<DeviceCode> codes) {
    SmallVector<SmallVector<std::string>> symbols;
    for (auto [target, code] : llvm::zip_equal(targets, codes)) {
      std::string chip = target.getChip().str(), cubin;
      addBytes("dsf.target." + chip, "nvptx:" + chip + '\0');
      addBytes(getPTXSymbol(target), code.ptx + '\0');
      if (!code.cubin.empty()) {
        cubin = "dsf.cubin." + chip;
        addBytes(cubin, code.cubin).setAlignment(kCubinAlignment);
      }
      symbols.push_back({"dsf.target." + chip, getPTXSymbol(target), cubin});
    }
    addTable(symbols, codes);
  }

private:
  LLVM::GlobalOp addGlobal(StringRef name, Type type, Attribute value) {
    return LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, name, value);
  }

  LLVM::GlobalOp addBytes(const Twine &name, StringRef bytes) {
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    return addGlobal(name.str(), type, b.getStringAttr(bytes));
  }

  Value getAddress(StringRef symbol) {
    if (symbol.empty())
      return LLVM::ZeroOp::create(b, pointer);
    return LLVM::AddressOfOp::create(b, pointer, symbol);
  }

  void addTable(ArrayRef<SmallVector<std::string>> symbols,
                ArrayRef<DeviceCode> codes) {
    Type row = LLVM::LLVMStructType::getLiteral(
        b.getContext(), {pointer, pointer, pointer, b.getI64Type()});
    Type type = LLVM::LLVMArrayType::get(row, symbols.size());
    LLVM::GlobalOp global = addGlobal(deviceCodesSymbol, type, Attribute());
    b.createBlock(&global.getInitializerRegion());
    Value table = LLVM::PoisonOp::create(b, type);
    for (int64_t i = 0; i < int64_t(symbols.size()); ++i) {
      for (int64_t field = 0; field < 3; ++field)
        table =
            LLVM::InsertValueOp::create(b, table, getAddress(symbols[i][field]),
                                        ArrayRef<int64_t>{i, field});
      Value bytes = LLVM::ConstantOp::create(b, b.getI64Type(),
                                             int64_t(codes[i].cubin.size()));
      table =
          LLVM::InsertValueOp::create(b, table, bytes, ArrayRef<int64_t>{i, 3});
    }
    LLVM::ReturnOp::create(b, table);
  }

  ImplicitLocOpBuilder b;
  Type pointer;
};

struct SerializeDevice
    : dsflash::impl::SerializeDevicePassBase<SerializeDevice> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(serialize()))
      signalPassFailure();
  }

private:
  LogicalResult serialize() {
    ModuleOp module = getOperation();
    auto targets = NVPTXTarget::parseList(device);
    if (!targets)
      return reportError(module, targets.takeError());
    SmallVector<DeviceCode> codes(targets->size());
    if (auto kernels =
            module.lookupSymbol<gpu::GPUModuleOp>(deviceModuleName)) {
      auto made = emitDeviceCode(kernels, *targets, ptxas);
      if (!made)
        return reportError(kernels, made.takeError());
      codes = std::move(*made);
      kernels.erase();
    }
    if (auto declared = module.lookupSymbol<LLVM::GlobalOp>(deviceCodesSymbol))
      declared.erase();
    CodeTable(module).define(*targets, codes);
    return success();
  }
};

} // namespace
