//===- BufferizableOpInterfaceImpl.cpp - Launches on buffers --------------===//

#include "dsflash/Transforms/BufferizableOpInterfaceImpl.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::dsflash;

/// `operands` with a buffer for each tensor.
static FailureOr<SmallVector<Value>>
getBuffers(RewriterBase &rewriter, OperandRange operands,
           const BufferizationOptions &options, BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : operands) {
    if (!isa<TensorType>(operand.getType())) {
      buffers.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}

namespace {

struct DispatchModel
    : DstBufferizableOpInterfaceExternalModel<DispatchModel, DispatchOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dispatch = cast<DispatchOp>(op);
    rewriter.setInsertionPoint(op);
    auto ins = getBuffers(rewriter, dispatch.getInputs(), options, state);
    auto outs = getBuffers(rewriter, dispatch.getInits(), options, state);
    if (failed(ins) || failed(outs))
      return failure();
    DispatchOp::create(rewriter, op->getLoc(), TypeRange(),
                       dispatch.getKernelAttr(), dispatch.getCall(),
                       dispatch.getGrid(), *ins, *outs,
                       dispatch.getWritesStateAttr());
    SmallVector<Value> results;
    for (auto [before, after] : llvm::zip_equal(dispatch.getInits(), *outs))
      if (isa<TensorType>(before.getType()))
        results.push_back(after);
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

struct ProbeModel
    : BufferizableOpInterface::ExternalModel<ProbeModel, ProbeOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  /// Layers share a selection, which is only observed.
  bool bufferizesToMemoryWrite(Operation *, OpOperand &input,
                               const AnalysisState &) const {
    return isa<FloatType>(getElementTypeOrSelf(input.get().getType()));
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto probe = cast<ProbeOp>(op);
    rewriter.setInsertionPoint(op);
    FailureOr<Value> buffer =
        getBuffer(rewriter, probe.getInput(), options, state);
    if (failed(buffer))
      return failure();
    ProbeOp::create(rewriter, op->getLoc(), /*result=*/Type(), *buffer,
                    probe.getNameAttr(), probe.getLayer(),
                    probe.getPositionsPerRowAttr());
    replaceOpWithBufferizedValues(rewriter, op, *buffer);
    return success();
  }
};

} // namespace

void mlir::dsflash::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DSFlashDialect *) {
    DispatchOp::attachInterface<DispatchModel>(*context);
    ProbeOp::attachInterface<ProbeModel>(*context);
  });
}
