//===- KernelBuilder.h - Writing kernel bodies ------------------*- C++ -*-===//
//
// A thin layer over ImplicitLocOpBuilder for the code that generators write:
// loops, vectors of f32, packed formats. Kernels keep every sum in an order
// that depends on the summed index alone, so that results do not depend on the
// number of rows or on how a launch is split.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_KERNELBUILDER_H
#define DSFLASH_KERNELS_KERNELBUILDER_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsflash {

class KernelBuilder : public ImplicitLocOpBuilder {
public:
  /// Lanes of a vector of f32 on a processor.
  static constexpr int64_t processorLanes = 16;

  /// `maxLanes`: of a vector of f32, a power of two. `threads`: that run an
  /// item together.
  KernelBuilder(Location loc, MLIRContext *context,
                int64_t maxLanes = processorLanes, int64_t threads = 1)
      : ImplicitLocOpBuilder(loc, context), maxLanes(maxLanes),
        threads(threads) {}

  int64_t getMaxLanes() const { return maxLanes; }
  int64_t getThreads() const { return threads; }
  /// Lanes of a vector that walks `extent` elements without a rest: the
  /// largest power of two up to the most lanes that divides it.
  int64_t getLanes(int64_t extent) const;
  /// Lanes of a vector of f64 as large as one of f32.
  int64_t getF64Lanes() const { return std::max(maxLanes / 2, int64_t(1)); }

  // --- constants and integers ---
  Value index(int64_t value);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(float value);
  /// All lanes the same constant.
  Value f32(float value, int64_t lanes);
  Value i32(int64_t value, int64_t lanes);
  Value add(Value a, Value b); // index or integer
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b); // unsigned, b positive
  Value rem(Value a, Value b);
  Value min(Value a, Value b); // signed
  Value max(Value a, Value b);
  Value add(Value a, int64_t b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  /// Signed comparison of integers or indices.
  Value cmp(arith::CmpIPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value toIndex(Value integer);
  Value toI32(Value index);
  Value f64(double value);
  /// f32 to f64, exact, and back, to nearest; scalar or vector.
  Value toF64(Value f32);
  Value fromF64(Value f64);
  /// Signed integer (scalar or vector) to f32, to nearest.
  Value toF32(Value integer);

  // --- control ---
  using LoopBody = function_ref<void(Value)>;
  using CarryBody = function_ref<SmallVector<Value>(Value, ArrayRef<Value>)>;
  void loop(Value begin, Value end, Value step, LoopBody body);
  void loop(Value begin, Value end, int64_t step, LoopBody body) {
    loop(begin, end, index(step), body);
  }
  void loop(Value begin, Value end, LoopBody body) {
    loop(begin, end, 1, body);
  }
  void loop(int64_t end, LoopBody body) { loop(index(0), index(end), 1, body); }
  /// A loop that carries values; gives the last ones.
  SmallVector<Value> loop(Value begin, Value end, int64_t step,
                          ArrayRef<Value> initial, CarryBody body);
  /// Walks 0 to `end`; the threads of an item take turns.
  void shareLoop(int64_t end, int64_t step, LoopBody body);
  void shareLoop(Value end, int64_t step, LoopBody body);
  SmallVector<Value> shareLoop(int64_t end, int64_t step,
                               ArrayRef<Value> initial, CarryBody body);
  SmallVector<Value> shareLoop(Value end, int64_t step, ArrayRef<Value> initial,
                               CarryBody body);
  void when(Value condition, function_ref<void()> body);
  void when(Value condition, function_ref<void()> body,
            function_ref<void()> otherwise);
  /// The values of one of two bodies, which give as many of the same types.
  using ValuesBody = function_ref<SmallVector<Value>()>;
  SmallVector<Value> choose(Value condition, ValuesBody body,
                            ValuesBody otherwise);

  // --- memory ---
  Value load(Value buffer, ArrayRef<Value> indices);
  void store(Value value, Value buffer, ArrayRef<Value> indices);
  /// `lanes` adjacent elements of the last dimension, as stored. `alignment`:
  /// bytes that the address is a multiple of; without it the element's.
  Value loadVector(Value buffer, ArrayRef<Value> indices, int64_t lanes,
                   llvm::MaybeAlign alignment = {});
  /// The first `count` of `lanes` adjacent elements, zeros behind them.
  Value loadFirst(Value buffer, ArrayRef<Value> indices, int64_t lanes,
                  Value count);
  void storeVector(Value vector, Value buffer, ArrayRef<Value> indices,
                   llvm::MaybeAlign alignment = {});
  /// Brings an element into the second-level cache.
  void prefetch(Value buffer, ArrayRef<Value> indices);
  /// A buffer of this kernel's own on the stack; static.
  Value scratch(ArrayRef<int64_t> shape, Type element);

  // --- the block of threads that runs a kernel with dsflash.block ---
  /// The number of this thread in its block.
  Value thread();
  /// Waits for all threads of the block; what they wrote is visible then.
  void barrier();
  /// Lets the first thread of an item do it.
  void onFirstThread(function_ref<void()> body);
  /// A barrier where several threads run an item.
  void syncThreads();
  /// The sum of a number of each thread of an item or the maximum of a float,
  /// in a fixed order; every thread gets it. Uses getSumBytes of the block's
  /// shared memory.
  Value sumThreads(Value value);
  Value maxThreads(Value value);
  /// Combines parts[i, thread] of all threads of a block pairwise for every i
  /// below `count`, and leaves the results in parts[i, 0].
  using Combination = function_ref<Value(Value, Value)>;
  void foldThreads(Value parts, Value count, Combination combine);
  /// The largest or smallest i32 of the threads of an item, at most a warp.
  Value maxOfWarp(Value value);
  Value minOfWarp(Value value);
  /// The largest f32 of so many neighbouring threads, a power of two at such a
  /// multiple, all of which are here; none is NaN.
  Value maxOfLanes(Value value, int64_t count);
  /// How many threads of an item have the flag set: those before this one, and
  /// all. Uses the same memory; all threads have come by when it returns.
  struct ThreadCount {
    Value before, total;
  };
  ThreadCount countThreads(Value flag);
  static int64_t getSumBytes(int64_t threads) {
    return threads * sizeof(double);
  }
  /// A buffer in the block's shared memory, from this byte.
  Value shared(int64_t offset, ArrayRef<int64_t> shape, Type element);

  // --- f32, scalar or vector ---
  Value addf(Value a, Value b);
  Value subf(Value a, Value b);
  Value mulf(Value a, Value b);
  Value divf(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  /// Adds the products of the lanes of two vectors to each scalar sum, from the
  /// first lane on.
  void addProducts(Value a, ArrayRef<Value> others,
                   MutableArrayRef<Value> sums);
  /// Sums of f32 and the products of two pairs of bf16 for each, in order.
  Value dotBF16(Value a, Value b, Value sum);
  /// The smaller or larger one; b if either is NaN.
  Value minf(Value a, Value b);
  Value maxf(Value a, Value b);
  Value absf(Value a);
  Value sqrt(Value a);
  Value exp(Value a);
  Value log1p(Value a);
  Value sigmoid(Value a); // 1 / (1 + exp(-a))
  Value cmpf(arith::CmpFPredicate predicate, Value a, Value b);
  Value splat(Value scalar, int64_t lanes);
  /// `lanes` adjacent lanes of a vector.
  Value slice(Value vector, int64_t first, int64_t lanes);
  /// Sum or maximum of all lanes, halves combined pairwise.
  Value reduceAdd(Value vector);
  Value reduceMax(Value vector);
  /// The sums of all lanes of each vector, as reduceAdd gives them; the number
  /// of vectors is a power of two.
  Value reduceAddEach(ArrayRef<Value> vectors);
  /// Minimum of all lanes of signed integers.
  Value reduceMinI(Value vector);
  /// Bits of f32 as i32 and back, scalar or vector.
  Value bitsOf(Value f32);
  Value fromBits(Value i32);
  /// A constant of this f32 type, scalar or vector.
  Value constantLike(Type type, float value);

  // --- bits, scalar or vector ---
  /// A constant of the integer type of `like`; excess high bits are dropped.
  Value intLike(Value like, int64_t value);
  Value bitAnd(Value a, int64_t mask);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value shiftLeft(Value a, int64_t count);
  Value shiftRight(Value a, int64_t count); // unsigned
  /// i8 or i16 to i32, unsigned.
  Value widen(Value code);
  /// The low 8 bits.
  Value narrow(Value bits);

  // --- number formats (SPEC section 2) ---
  /// r(x): to the nearest bf16, ties to even, kept as f32 (SPEC section 2).
  Value round(Value a);
  /// f32 of bf16, bit for bit.
  Value decodeBF16(Value value);
  /// bf16 of f32 values that are exact in it, scalar or vector.
  Value narrowBF16(Value value);
  /// bf16 of two vectors of such values, in turn: even[0], odd[0], even[1] ...
  Value joinBF16(Value even, Value odd);
  /// Values of E4M3 codes (i8, scalar or vector), in f32 or `element`.
  Value decodeE4M3(Value code, Type element = {});
  /// Codes (i8) of f32 values: saturating at 448, to nearest, ties to even, in
  /// one rounding; NaN stays NaN.
  Value encodeE4M3(Value value);
  /// Value of E8M0 codes (i8): 2^(code - 127), 255 is NaN.
  Value decodeE8M0(Value code);
  /// Code (i8) of a power of two.
  Value encodeE8M0(Value scale);
  /// Values of E2M1 codes in the low four bits of i32, times a scalar scale.
  Value decodeE2M1(Value bits, Value scale);
  /// bf16 of E2M1 codes of two a byte times powers of two (codes of E8M0) of
  /// equal shares: every fourth column, from each of the first four.
  Value decodeE2M1Blocks(Value codes, ArrayRef<Value> scales);
  /// Codes (low four bits of i8) of f32 values: saturating at 6, to nearest,
  /// ties to the even code; NaN gives 0 of its sign.
  Value encodeE2M1(Value value);
  /// Code of a value of the format's element type (e4m3 or e2m1) and back.
  Value encode(Value value, FormatAttr format);
  Value decode(Value code, FormatAttr format);
  /// Values of adjacent elements as they are stored, times their common scale,
  /// where the format has one.
  Value decodeStored(Value stored, Value scale, FormatAttr format);

  /// The scale of a group from the largest magnitude in it, for a format of
  /// SPEC section 2: activations (e4m3 x e8m0), index rows (e2m1 x e8m0),
  /// global KV (e2m1 x e4m3). f32 scalar.
  Value groupScale(Value largest, FormatAttr format);
  /// Stored code of a scale in the format's scale type (i8).
  Value encodeScale(Value scale, FormatAttr format);
  Value decodeScale(Value code, FormatAttr format);
  /// Divides the vectors of one group by their common scale, which it gives:
  /// what is left of them is ready for `encode`. So many neighbouring threads
  /// have a part of the group each (maxOfLanes).
  Value quantizeGroup(MutableArrayRef<Value> group, FormatAttr format,
                      int64_t sharers = 1);

  // --- packed rows ---
  /// Decodes row `row` of a plane pair into `out`, scratch of f32, or of bf16
  /// where that is exact; the threads of an item share its columns. Blocks of
  /// one scale lie along the columns; scale row = row / blockRows.
  void decodeRow(FormatAttr format, Value payload, Value scales, Value row,
                 Value out);
  /// Quantizes `dim` f32 of values[valueRow, 0..] in the format of a state and
  /// packs them into row `row`.
  void encodeRow(FormatAttr format, Value values, Value valueRow, Value payload,
                 Value scales, Value row);

private:
  void decodeSmallBlocks(FormatAttr format, Value payload, Value scales,
                         Value scaleRow, Value row, Value out);
  void decodeE4M3Blocks(FormatAttr format, Value payload, Value scales,
                        Value scaleRow, Value row, Value out);
  Value integer(Type type, int64_t value);
  /// The type of `like`, scalar or vector, with another element type.
  static Type withElement(Type like, Type element);
  /// Bits of a scalar or vector seen as `element`.
  Value bitcast(Value value, Type element);
  Value reduce(Value vector, function_ref<Value(Value, Value)> combine);
  Value reduceThreads(Value value, Combination combine);

  int64_t maxLanes, threads;
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_KERNELBUILDER_H
