//===- AttentionKeys.h - Where the keys of a row lie ------------*- C++ -*-===//

#ifndef DSFLASH_KERNELS_ATTENTIONKEYS_H
#define DSFLASH_KERNELS_ATTENTIONKEYS_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// The keys of one row of a call: positions `first` and on, then the selected
/// rows of the global KV.
struct AttentionKeys {
  Value kv;                      // [rows, dim] of the call
  Value ringPayload, ringScales; // of the sequence; no scales for f32
  Value first, windowCount;      // of the positions
  Value callPosition, callRow;   // where the sequence begins in the call
  Value layerRow, slots;         // of the ring
  Value row;                     // of the call
  // Null where there are none.
  Value globalPayload, globalScales;
  Value selection; // [rows, k]; below 0 there is none

  /// Calls the module's function `name` for these keys and other operands,
  /// buffers without their extents. Its body is emitted where the module lacks
  /// it.
  void callFunction(
      KernelBuilder &b, const std::string &name, ValueRange others,
      function_ref<void(KernelBuilder &, const AttentionKeys &, ValueRange)>
          emitBody) const;

private:
  SmallVector<Value *> list();
};

/// "4x64.e4m3.1x32.e2m1.1x16": heads, their size and the formats of ring and
/// global rows, for names. `global` is null where there is none.
std::string describeAttention(int64_t heads, int64_t dim, FormatAttr ring,
                              FormatAttr global);

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_ATTENTIONKEYS_H
