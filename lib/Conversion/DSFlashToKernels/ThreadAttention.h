//===- ThreadAttention.h - Attention of a few heads by a thread -*- C++ -*-===//
//
// One softmax over K = V rows with a sink (SPEC section 3, attention).
// Probabilities are relative to the maximum over all keys, so that keys are
// walked twice; sums run over the keys in order, whatever the heads and rows
// that are computed together.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_THREADATTENTION_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_THREADATTENTION_H

#include "RowAccess.h"
#include "dsflash/Kernels/AttentionKeys.h"

namespace mlir::dsflash {

/// The size of an attention and how its heads are computed together.
struct AttentionShape {
  int64_t dim;
  int64_t unitHeads; // heads are a multiple of this
  int64_t mostHeads;
  FormatAttr ring, global; // global is null where there is none
  bool roundProbabilities;

  int64_t getStep(int64_t most) const;
};

/// `count` heads of a row, from `first`.
struct AttentionHeads {
  Value first, count;
  Value sinks; // of these heads, [mostHeads] of f32
  Value query; // [rows, heads * dim], as the result
  Value result;
};

/// What the emitters of an attention have in common.
class ThreadAttention {
public:
  virtual ~ThreadAttention() = default;
  virtual void emit() = 0;

protected:
  ThreadAttention(KernelBuilder &b, const AttentionShape &shape,
                  const AttentionKeys &keys, const AttentionHeads &heads);

  /// Puts the values of key t into `to`, of rank 1 and f32, or bf16 if keys are
  /// exact in it; zeros where there is no such key, where `hide` is emitted
  /// too.
  void fetch(Value t, Value to, function_ref<void()> hide);
  void forHeads(int64_t step, function_ref<void(Value head)> body) {
    b.loop(b.index(0), heads.count, step, body);
  }
  Value getFeature(Value head, Value feature) {
    return b.add(b.mul(b.add(heads.first, head), shape.dim), feature);
  }
  /// dim^-0.5.
  float getScale() const;
  void clearResult();
  /// The sum of all probabilities and the sink's; 1 where there is no key.
  Value getDenominator(Value head, Value sum, Value top);
  void divideResult(Value head, Value denominator);

  KernelBuilder &b;
  AttentionShape shape;
  AttentionKeys keys;
  AttentionHeads heads;
  Value count; // of the keys

private:
  void putRow(Value to, function_ref<Value(Value f, int64_t lanes)> getVector);
  void fetchOfWindow(Value t, Value to);
  void findSelected();

  Value firstColumn; // of the selection
};

/// Emits an attention that sums in f32 by FMA, over any number of keys.
void emitFloatAttention(KernelBuilder &b, const AttentionShape &shape,
                        const AttentionKeys &keys, const AttentionHeads &heads);

/// Whether products of pairs of bf16 values give this attention, if queries and
/// the rows of the call are exact in bf16.
bool isPairAttention(const AttentionShape &shape);
/// Emits it, over at most `mostKeys` keys.
void emitPairAttention(KernelBuilder &b, const AttentionShape &shape,
                       const AttentionKeys &keys, const AttentionHeads &heads,
                       int64_t mostKeys);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_THREADATTENTION_H
