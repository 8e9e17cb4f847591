//===- Types.cpp - Formats, weights and state -----------------------------===//

#include "Constraints.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// FormatAttr
//===----------------------------------------------------------------------===//

LogicalResult FormatAttr::verify(EmitError emitError, Element element,
                                 Element scale, int64_t blockRows,
                                 int64_t blockColumns) {
  if (element == Element::E8M0 || element == Element::None)
    return emitError() << "(C1) expected a payload of f32, bf16, e4m3, e2m1 or "
                          "i32 but got "
                       << stringifyElement(element);
  bool packed = element == Element::E4M3 || element == Element::E2M1;
  if (scale != Element::None && scale != Element::E8M0 &&
      scale != Element::E4M3)
    return emitError() << "(C2) expected a scale of e8m0 or e4m3 but got "
                       << stringifyElement(scale);
  if (packed != (scale != Element::None))
    return emitError() << "(C2) expected a scale exactly for e4m3 and e2m1";
  bool fits = packed ? isExtent(blockRows) && isExtent(blockColumns)
                     : blockRows == 0 && blockColumns == 0;
  if (!fits)
    return emitError() << "(C3) expected a positive block exactly with a scale "
                          "but got ["
                       << blockRows << ", " << blockColumns << "]";
  return success();
}

int64_t FormatAttr::getPayloadBytes(int64_t columns) const {
  switch (getElement()) {
  case Element::F32:
  case Element::I32:
    return columns * 4;
  case Element::BF16:
    return columns * 2;
  case Element::E2M1:
    return columns / 2;
  default:
    return columns;
  }
}

int64_t FormatAttr::getScaleCount(int64_t columns) const {
  return hasScale() ? llvm::divideCeil(columns, getBlockColumns()) : 0;
}

//===----------------------------------------------------------------------===//
// ConfigAttr and BlockAttr
//===----------------------------------------------------------------------===//

static bool isBlockSize(int64_t threads) {
  constexpr int64_t warp = 32, mostThreads = 1024;
  return threads > 0 && threads <= mostThreads && threads % warp == 0;
}

LogicalResult ConfigAttr::verify(EmitError emitError, StringRef, int64_t lanes,
                                 int64_t threads, int64_t sharedBytes,
                                 int64_t stages, ArrayRef<int64_t> tile) {
  constexpr int64_t step = 16, mostOutputs = 512;
  bool fits = lanes > 0 && llvm::isPowerOf2_64(lanes) && isBlockSize(threads) &&
              sharedBytes >= 0;
  if (!fits)
    return emitError() << "(C1) expected lanes that are a power of two, a "
                          "multiple of 32 threads up to 1024 and no negative "
                          "size but got "
                       << lanes << ", " << threads << " and " << sharedBytes;
  bool tileFits = tile.empty() ? stages == 0
                               : tile.size() == 3 && stages >= 2 &&
                                     tile[1] <= mostOutputs &&
                                     llvm::all_of(tile, [](int64_t extent) {
                                       return extent > 0 && extent % step == 0;
                                     });
  if (!tileFits)
    return emitError() << "(C2) expected a tile of three extents that are "
                          "multiples of 16, at most 512 outputs, and two or "
                          "more stages";
  return success();
}

LogicalResult BlockAttr::verify(EmitError emitError, int64_t threads,
                                int64_t sharedBytes) {
  if (!isBlockSize(threads))
    return emitError() << "(C1) expected a multiple of 32 threads up to 1024 "
                          "but got "
                       << threads;
  if (sharedBytes < 0)
    return emitError() << "(C2) expected no negative size but got "
                       << sharedBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

bool mlir::dsflash::hasRowShape(RankedTensorType type) {
  return type.getRank() >= 1 && type.isDynamicDim(0) && !type.getEncoding() &&
         llvm::all_of(type.getShape().drop_front(), isExtent);
}

/// C1 of every type. Bounds what a type can ask for, so that products of
/// extents and byte counts stay far below 2^63.
static LogicalResult verifyExtents(EmitError emitError,
                                   ArrayRef<int64_t> extents) {
  constexpr int64_t maxElements = int64_t(1) << 48;
  int64_t left = maxElements;
  for (int64_t extent : extents) {
    if (!isExtent(extent))
      return emitError() << "(C1) expected extents of 1 to 2147483647 but got "
                         << extent;
    left /= extent;
  }
  if (left == 0)
    return emitError() << "(C1) expected at most 2^48 elements";
  return success();
}

//===----------------------------------------------------------------------===//
// WeightType
//===----------------------------------------------------------------------===//

LogicalResult WeightType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                 FormatAttr format) {
  if (shape.size() != 2 && shape.size() != 3)
    return emitError() << "(C1) expected 2 or 3 extents but got "
                       << shape.size();
  if (failed(verifyExtents(emitError, shape)))
    return failure();
  if (format.getElement() == Element::E2M1 && shape.back() % 2)
    return emitError() << "(C2) expected an even number of columns but got "
                       << shape.back();
  return success();
}

//===----------------------------------------------------------------------===//
// State types
//===----------------------------------------------------------------------===//

/// C2 of every state of packed rows.
static LogicalResult verifyRow(EmitError emitError, int64_t dim,
                               FormatAttr format) {
  if (format.getElement() != Element::F32 &&
      !(format.hasScale() && format.getBlockRows() == 1))
    return emitError() << "(C2) expected a format of f32, or of e4m3 or e2m1 "
                          "with blocks of one row, but got "
                       << format;
  if (format.hasScale() && dim % format.getBlockColumns())
    return emitError() << "(C2) expected dim to be a multiple of "
                       << format.getBlockColumns() << " but got " << dim;
  if (format.getElement() == Element::E2M1 && dim % 2)
    return emitError() << "(C2) expected an even dim but got " << dim;
  return success();
}

LogicalResult WindowType::verify(EmitError emitError, int64_t layers,
                                 int64_t slots, int64_t dim, FormatAttr format,
                                 bool) {
  if (failed(verifyExtents(emitError, {layers, slots, dim})))
    return failure();
  return verifyRow(emitError, dim, format);
}
int64_t WindowType::getRowCount() const { return getLayers() * getSlots(); }
int64_t WindowType::getRowElements() const { return getDim(); }
int64_t WindowType::getPositionsPerRow() const { return 0; }
FormatAttr WindowType::getRowFormat() const { return getFormat(); }

LogicalResult GlobalKVType::verify(EmitError emitError, int64_t rows,
                                   int64_t dim, int64_t ratio,
                                   FormatAttr format) {
  if (failed(verifyExtents(emitError, {rows, dim, ratio})))
    return failure();
  return verifyRow(emitError, dim, format);
}
int64_t GlobalKVType::getRowCount() const { return getRows(); }
int64_t GlobalKVType::getRowElements() const { return getDim(); }
int64_t GlobalKVType::getPositionsPerRow() const { return getRatio(); }
FormatAttr GlobalKVType::getRowFormat() const { return getFormat(); }

LogicalResult IndexKeysType::verify(EmitError emitError, int64_t rows,
                                    int64_t dim, int64_t ratio,
                                    FormatAttr format) {
  return GlobalKVType::verify(emitError, rows, dim, ratio, format);
}
int64_t IndexKeysType::getRowCount() const { return getRows(); }
int64_t IndexKeysType::getRowElements() const { return getDim(); }
int64_t IndexKeysType::getPositionsPerRow() const { return getRatio(); }
FormatAttr IndexKeysType::getRowFormat() const { return getFormat(); }

LogicalResult PendingType::verify(EmitError emitError, int64_t slots,
                                  int64_t dim) {
  return verifyExtents(emitError, {slots, dim});
}
int64_t PendingType::getRowCount() const { return getSlots(); }
int64_t PendingType::getRowElements() const { return 2 * getDim(); }
int64_t PendingType::getPositionsPerRow() const { return 0; }
FormatAttr PendingType::getRowFormat() const {
  return FormatAttr::get(getContext(), Element::F32, Element::None, 0, 0);
}
