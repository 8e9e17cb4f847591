//===- LogitsFile.h - Logits of a run as a file -----------------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_LOGITSFILE_H
#define DSFLASH_RUNTIME_LOGITSFILE_H

#include "dsflash/Runtime/Generator.h"

#include <string>
#include <vector>

namespace dsflash {

/// Writes --logits: `tokens`, `positions`, `logits`, `generated`,
/// `generated_logits` of each sequence, with "p0.", "p1.", .. in front if
/// there are several.
Status writeLogits(const std::string &path,
                   const std::vector<SequenceResult> &results, int64_t vocab);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_LOGITSFILE_H
