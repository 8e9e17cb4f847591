//===- FormatPatterns.h - Number formats on a processor ---------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_FORMATPATTERNS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_FORMATPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dsflash {

/// The look-ups in registers that a processor has.
struct LookUps {
  int64_t lanes; // of 32 bits, in one register; 0 for none
  bool words;    // of 16 bits, in two registers of 512
  bool bytes;    // in two registers of 512
};

/// Narrowing and integers to bf16, and products of pairs: by instructions for
/// 512 bits if `hasDot` (AVX-512 BF16), else by arithmetic.
void populateBF16Patterns(RewritePatternSet &patterns, bool hasDot);

/// Codes of small floats to their values by look-ups; the patterns that compute
/// them have a smaller benefit.
void populateLookUpPatterns(RewritePatternSet &patterns,
                            const LookUps &lookUps);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_FORMATPATTERNS_H
