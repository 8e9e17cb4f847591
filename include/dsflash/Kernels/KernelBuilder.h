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
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsflash {

class KernelBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// Lanes of a vector that walks `extent` elements without a rest: the
  /// largest power of two up to 16 that divides it.
  static int64_t getLanes(int64_t extent);

  //===--- constants and integers ----------------------------------------===//
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
  /// Signed integer (scalar or vector) to f32, to nearest.
  Value toF32(Value integer);

  //===--- control --------------------------------------------------------===//
  using LoopBody = function_ref<void(Value)>;
  using CarryBody =
      function_ref<SmallVector<Value>(Value, ArrayRef<Value>)>;
  void loop(Value begin, Value end, int64_t step, LoopBody body);
  void loop(Value begin, Value end, LoopBody body) { loop(begin, end, 1, body); }
  void loop(int64_t end, LoopBody body) { loop(index(0), index(end), 1, body); }
  /// A loop that carries values; gives the last ones.
  SmallVector<Value> loop(Value begin, Value end, int64_t step,
                          ArrayRef<Value> initial, CarryBody body);
  void when(Value condition, function_ref<void()> body);
  void when(Value condition, function_ref<void()> body,
            function_ref<void()> otherwise);

  //===--- memory ---------------------------------------------------------===//
  Value load(Value buffer, ArrayRef<Value> indices);
  void store(Value value, Value buffer, ArrayRef<Value> indices);
  /// `lanes` adjacent elements of the last dimension, as stored.
  Value loadVector(Value buffer, ArrayRef<Value> indices, int64_t lanes);
  void storeVector(Value vector, Value buffer, ArrayRef<Value> indices);
  /// A buffer of this kernel's own on the stack; static and small.
  Value scratch(ArrayRef<int64_t> shape, Type element);

  //===--- f32, scalar or vector --------------------------------------------===//
  Value addf(Value a, Value b);
  Value subf(Value a, Value b);
  Value mulf(Value a, Value b);
  Value divf(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value minf(Value a, Value b);
  Value maxf(Value a, Value b);
  Value absf(Value a);
  Value sqrt(Value a);
  Value exp(Value a);
  Value sigmoid(Value a); // 1 / (1 + exp(-a))
  Value cmpf(arith::CmpFPredicate predicate, Value a, Value b);
  Value splat(Value scalar, int64_t lanes);
  /// Sum or maximum of all lanes, halves added pairwise.
  Value reduceAdd(Value vector);
  Value reduceMax(Value vector);
  /// Bits of f32 as i32 and back, scalar or vector.
  Value bitsOf(Value f32);
  Value fromBits(Value i32);
  /// r(x): to the nearest bf16, ties to even, kept as f32 (SPEC section 2).
  Value round(Value a);

  //===--- number formats (SPEC section 2) ----------------------------------===//
  /// Values of E4M3 codes (i8, scalar or vector).
  Value decodeE4M3(Value code);
  /// Codes (i8) of f32 values: saturating at 448, to nearest, ties to even, in one rounding.
  Value encodeE4M3(Value value);
  /// Value of E8M0 codes (i8): 2^(code - 127), 255 is NaN.
  Value decodeE8M0(Value code);
  /// Code (i8) of a power of two.
  Value encodeE8M0(Value scale);
  /// Values of E2M1 codes in the low four bits of i8.
  Value decodeE2M1(Value code);
  /// Codes (low four bits of i8) of values in [-6, 6], nearest, ties to the even code.
  Value encodeE2M1(Value value);

  /// The scale of a group from the largest magnitude in it, for a format of
  /// SPEC section 2: activations (e4m3 x e8m0), index rows (e2m1 x e8m0),
  /// global KV (e2m1 x e4m3). f32 scalar.
  Value groupScale(Value largest, FormatAttr format);
  /// Stored code of a scale in the format's scale type (i8).
  Value encodeScale(Value scale, FormatAttr format);
  Value decodeScale(Value code, FormatAttr format);

  //===--- packed rows ------------------------------------------------------===//
  /// Decodes row `row` of a plane pair into `out` (memref<dimxf32> scratch).
  /// Blocks of one scale lie along the columns; scale row = row / blockRows.
  void decodeRow(FormatAttr format, Value payload, Value scales, Value row,
                 Value out);
  /// Quantizes `dim` f32 of values[valueRow, 0..] in the format of a state and
  /// packs them into row `row`.
  void encodeRow(FormatAttr format, Value values, Value valueRow, Value payload,
                 Value scales, Value row);
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_KERNELBUILDER_H
