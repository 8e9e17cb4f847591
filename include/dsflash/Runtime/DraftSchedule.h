//===- DraftSchedule.h - How many drafts to verify --------------*- C++ -*-===//
//
// Confidence-scheduled verification (SPEC section 3, DSpark): a draft is worth
// its row as long as it raises the expected tokens a second.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_DRAFTSCHEDULE_H
#define DSFLASH_RUNTIME_DRAFTSCHEDULE_H

#include "dsflash/Runtime/ModelRunner.h"

#include <vector>

namespace dsflash {

/// Seconds that the parts of a step take.
struct StepCosts {
  double draft = 0;    ///< a block of drafts
  double row = 0;      ///< verification of the last token alone
  double extraRow = 0; ///< of each draft more

  double verify(int64_t drafts) const {
    return row + extraRow * double(drafts);
  }
};

/// Measures a model on a sequence of its own.
Result<StepCosts> measureStepCosts(ModelRunner &runner, int64_t width);

/// How many of the drafts to verify: what maximizes (1 + S_1 + .. + S_L) /
/// (draft + verify(L)), where S_k, the survival, is the product of the first k
/// confidences. Whether a draft is among them depends on confidences that were
/// known before it was drawn, so that sampling stays unbiased.
int64_t verifiedLength(const std::vector<float> &confidences,
                       const StepCosts &costs);

/// Whether drafting can gain anything, even if all drafts were accepted.
bool isWorthDrafting(int64_t width, const StepCosts &costs);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DRAFTSCHEDULE_H
