//===- Launches.cpp - Launches, probes and packed data to LLVM ------------===//

#include "Launches.h"
#include "LaunchTasks.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::dsflash;

void mlir::dsflash::addDSFlashTypeConversions(LLVMTypeConverter &converter) {
  converter.addConversion([](Type type) -> std::optional<Type> {
    if (isa<WeightType, StateTypeInterface>(type))
      return IntegerType::get(type.getContext(), 64);
    return std::nullopt;
  });
  // Copies are waited for by their order, not by what names them.
  converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
}

namespace {

template <typename OpTy>
class ABIPattern : public ConvertOpToLLVMPattern<OpTy> {
public:
  ABIPattern(const LLVMTypeConverter &converter, const ModuleLayout &layout)
      : ConvertOpToLLVMPattern<OpTy>(converter), layout(layout) {}

protected:
  /// Splits the block in front of `op`; gives a block that runs only if
  /// `condition` holds, before what follows.
  static Block *runIf(ConversionPatternRewriter &rewriter, Operation *op,
                      Value condition) {
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, Block::iterator(op));
    Block *then = rewriter.createBlock(after);
    LLVM::BrOp::create(rewriter, op->getLoc(), after);
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, op->getLoc(), condition, then, after);
    rewriter.setInsertionPointToStart(then);
    return then;
  }

  /// Goes on with `b` where it runs only if the environment has a function in
  /// that field; gives environment and function.
  static std::pair<Value, Value> runIfGiven(ConversionPatternRewriter &rewriter,
                                            Operation *op, ABIBuilder &b,
                                            size_t field) {
    Value call = op->getParentRegion()->front().getArgument(0);
    Value environment = b.loadField(b.pointer(), call, offsetof(dsf_call, env));
    Value function = b.loadField(b.pointer(), environment, field);
    Value isGiven =
        LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, function, b.null());
    b.setInsertionPointToStart(runIf(rewriter, op, isGiven));
    return {environment, function};
  }

  /// Replaces `op` by a buffer of its static type.
  void replaceByBuffer(ConversionPatternRewriter &rewriter, OpTy op,
                       Value address) const {
    Value buffer = MemRefDescriptor::fromStaticShape(
        rewriter, op.getLoc(), *this->getTypeConverter(),
        cast<MemRefType>(op.getType()), address);
    rewriter.replaceOp(op, buffer);
  }

  const ModuleLayout &layout;
};

struct ConvertDispatch : ABIPattern<DispatchOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(DispatchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getNumResults() != 0 || !op.getCall())
      return rewriter.notifyMatchFailure(op, "not on buffers with a call");
    ABIBuilder b(op.getLoc(), rewriter);
    bool onDevice = layout.kernels.contains(op.getKernelAttr().getAttr()) &&
                    !layout.device.empty();
    SmallVector<Value> fields{adaptor.getCall()};
    if (onDevice)
      fields.push_back(adaptor.getGrid());
    pack(b, op, adaptor, fields);
    auto structure = LLVM::LLVMStructType::getLiteral(
        getContext(), llvm::to_vector(ValueRange(fields).getTypes()));
    Value context = allocate(op, structure, rewriter);

    Value hasItems = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::sgt,
                                          adaptor.getGrid(), b.i64(0));
    Block *then = runIf(rewriter, op, hasItems);
    b.setInsertionPointToStart(then);
    for (auto [i, field] : llvm::enumerate(fields))
      LLVM::StoreOp::create(b, field,
                            getFieldAddress(b, structure, context, i));
    Value environment =
        b.loadField(b.pointer(), adaptor.getCall(), offsetof(dsf_call, env));
    if (onDevice)
      callLaunch(b, op, environment, context, structure, adaptor.getGrid());
    else
      callParallelFor(b, op, environment, context, adaptor.getGrid());
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void callParallelFor(ABIBuilder &b, DispatchOp op, Value environment,
                              Value context, Value items) {
    Value task =
        LLVM::AddressOfOp::create(b, b.pointer(), getTaskName(op.getKernel()));
    Value parallelFor =
        b.loadField(b.pointer(), environment, offsetof(dsf_env, parallel_for));
    b.callEnvironment(environment, parallelFor, {task, context, items});
  }

  void callLaunch(ABIBuilder &b, DispatchOp op, Value environment,
                  Value context, Type structure, Value items) const {
    auto number = layout.kernels.find(op.getKernelAttr().getAttr()) -
                  layout.kernels.begin();
    int64_t bytes = DataLayout::closest(op).getTypeSize(structure);
    Value launch =
        b.loadField(b.pointer(), environment, offsetof(dsf_env, launch));
    b.callEnvironment(environment, launch,
                      {b.i32(number), items, context, b.i64(bytes)});
  }

  static void pack(ABIBuilder &b, DispatchOp op, OpAdaptor adaptor,
                   SmallVectorImpl<Value> &fields) {
    auto append = [&](Value operand, Value converted) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type) {
        fields.push_back(converted);
        return;
      }
      MemRefDescriptor buffer(converted);
      fields.push_back(buffer.alignedPtr(b, b.getLoc()));
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (type.isDynamicDim(i))
          fields.push_back(buffer.size(b, b.getLoc(), i));
    };
    for (auto [operand, converted] :
         llvm::zip_equal(op.getInputs(), adaptor.getInputs()))
      append(operand, converted);
    for (auto [operand, converted] :
         llvm::zip_equal(op.getInits(), adaptor.getInits()))
      append(operand, converted);
  }

  /// Space in the function's entry block.
  static Value allocate(Operation *op, Type structure,
                        ConversionPatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&op->getParentRegion()->front());
    ABIBuilder b(op->getLoc(), rewriter);
    return LLVM::AllocaOp::create(b, b.pointer(), structure, b.i64(1));
  }
};

struct ConvertProbe : ABIPattern<ProbeOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(ProbeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<MemRefType>(op.getInput().getType());
    if (!type || !type.getLayout().isIdentity())
      return rewriter.notifyMatchFailure(op, "no buffer of identity layout");
    ABIBuilder b(op.getLoc(), rewriter);
    MemRefDescriptor buffer(adaptor.getInput());
    auto [environment, probe] =
        runIfGiven(rewriter, op, b, offsetof(dsf_env, probe));
    auto number = layout.probes.find(ModuleLayout::getProbeKey(op)) -
                  layout.probes.begin();
    Value layer = op.getLayer() ? adaptor.getLayer() : b.i64(-1);
    b.callEnvironment(environment, probe,
                      {b.i32(number), layer, buffer.alignedPtr(b, b.getLoc()),
                       buffer.size(b, b.getLoc(), 0)});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertAwaitRows : ABIPattern<AwaitRowsOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(AwaitRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ABIBuilder b(op.getLoc(), rewriter);
    auto [environment, await] =
        runIfGiven(rewriter, op, b, offsetof(dsf_env, await_rows));
    b.callEnvironment(environment, await, adaptor.getTable());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertReport : ABIPattern<ReportOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(ReportOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getCall())
      return rewriter.notifyMatchFailure(op, "no call");
    ABIBuilder b(op.getLoc(), rewriter);
    auto number = layout.checks.find(ModuleLayout::getCheckKey(op)) -
                  layout.checks.begin();
    Value layer = op.getLayer() ? adaptor.getLayer() : b.i64(-1);
    LLVM::CallOp::create(b, TypeRange(), kReportFunction,
                         ValueRange{adaptor.getCall(), b.i32(number), layer,
                                    adaptor.getPosition(), adaptor.getFound(),
                                    adaptor.getExpected(), adaptor.getSlot()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertParamRef : ABIPattern<ParamRefOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(ParamRefOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const auto *slot = layout.slots.find(op.getParamAttr().getAttr());
    if (slot == layout.slots.end())
      return rewriter.notifyMatchFailure(op, "no such parameter");
    ABIBuilder b(op.getLoc(), rewriter);
    WeightType type = op.getType();
    Value first = b.i64(slot->second);
    if (op.getLayer())
      first = b.add(first, b.mul(adaptor.getLayer(),
                                 type.getExperts() * type.getPlanes()));
    rewriter.replaceOp(op, first);
    return success();
  }
};

struct ConvertWeightData : ABIPattern<WeightDataOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(WeightDataOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getCall())
      return rewriter.notifyMatchFailure(op, "no call");
    ABIBuilder b(op.getLoc(), rewriter);
    Value slot = adaptor.getWeight();
    if (op.getExpert())
      slot = b.add(slot, b.mul(adaptor.getExpert(),
                               op.getWeight().getType().getPlanes()));
    if (op.getPlane() == Plane::Scale)
      slot = b.add(slot, b.i64(1));
    Value table = b.loadField(b.pointer(), adaptor.getCall(),
                              offsetof(dsf_call, weights));
    replaceByBuffer(rewriter, op, b.loadPointer(table, slot));
    return success();
  }
};

struct ConvertStateData : ABIPattern<StateDataOp> {
  using ABIPattern::ABIPattern;

  LogicalResult
  matchAndRewrite(StateDataOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getCall())
      return rewriter.notifyMatchFailure(op, "no call");
    ABIBuilder b(op.getLoc(), rewriter);
    Value table =
        b.loadField(b.pointer(), adaptor.getCall(), offsetof(dsf_call, states));
    Value plane = b.offset(b.loadPointer(table, adaptor.getSequence()),
                           adaptor.getState());
    if (op.getPlane() == Plane::Scale) {
      auto state = cast<StateTypeInterface>(op.getState().getType());
      plane = b.offset(plane, b.i64(ModuleLayout::getScaleOffset(state)));
    } else if (op.getPlane() == Plane::Position) {
      auto state = cast<StateTypeInterface>(op.getState().getType());
      plane = b.offset(plane, b.i64(ModuleLayout::getPositionOffset(state)));
    }
    replaceByBuffer(rewriter, op, plane);
    return success();
  }
};

/// A prefetch is a hint that no device takes.
struct DropPrefetch : ConvertOpToLLVMPattern<memref::PrefetchOp> {
  DropPrefetch(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(memref::PrefetchOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::dsflash::populateDSFlashToLLVMPatterns(
    const LLVMTypeConverter &converter, const ModuleLayout &layout,
    RewritePatternSet &patterns) {
  patterns.add<ConvertAwaitRows, ConvertDispatch, ConvertProbe, ConvertReport,
               ConvertParamRef, ConvertWeightData, ConvertStateData>(converter,
                                                                     layout);
  if (!layout.device.empty())
    patterns.add<DropPrefetch>(converter);
}
