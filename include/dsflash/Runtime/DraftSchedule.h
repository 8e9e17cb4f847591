//===- DraftSchedule.h - How many drafts to verify --------------*- C++ -*-===//
//
// Confidence-scheduled verification (SPEC section 3, DSpark): a draft is worth
// its row as long as it raises the expected tokens a second.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_DRAFTSCHEDULE_H
#define DSFLASH_RUNTIME_DRAFTSCHEDULE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsflash {

/// Seconds that the parts of a step take for each of its sequences.
struct StepCosts {
  double draft = 0;    ///< a block of drafts
  double row = 0;      ///< verification of the last token alone
  double extraRow = 0; ///< of each draft more

  double verify(int64_t drafts) const {
    return row + extraRow * double(drafts);
  }
};

/// S_k for each k, the survival: the product of the first k confidences.
std::vector<double> survivals(const std::vector<float> &confidences);

/// How many of the drafts to verify: what maximizes (1 + S_1 + .. + S_L) /
/// (draft + verify(L)), each S_k corrected by `trust`. Whether a draft is among
/// them depends on confidences that were known before it was drawn, so that
/// sampling stays unbiased.
int64_t verifiedLength(const std::vector<float> &confidences,
                       const StepCosts &costs, double trust = 1);

/// Whether drafting can gain anything, even if the draft layers were sure of
/// all drafts.
bool isWorthDrafting(int64_t width, const StepCosts &costs, double trust = 1);

/// The median of the last few values.
class RunningMedian {
public:
  void add(double value);
  /// At least one value was added.
  double value() const;
  int64_t count() const { return added; }

private:
  static constexpr size_t kWindow = 9;
  std::array<double, kWindow> values{};
  int64_t added = 0;
};

/// How many drafts stand for one that the confidences promise, by the last few
/// verifications: what survivals are to be multiplied by, up to 1 each.
class DraftTrust {
public:
  /// Of so many verified drafts, whose survivals add up to `promised`.
  void add(double promised, int64_t accepted);
  double value() const { return (stood + 1) / (expected + 1); }

private:
  double expected = 0, stood = 0;
};

/// What the steps of a run verify. Costs are those of its own steps: at the
/// start, and whenever the number of sequences changes, it measures a few steps
/// without drafts and a few with whole blocks in turn, later one of a kind
/// that was not seen for long. Which steps these are depends on no token.
class DraftSchedule {
public:
  enum class Step {
    Plain,     ///< draft nothing
    Scheduled, ///< verify verifiedLength drafts
    Whole      ///< verify all drafts
  };

  /// `width` drafts in a block.
  explicit DraftSchedule(int64_t width) : width(width) {}

  /// What the next step of so many sequences is.
  Step next(int64_t sequences);
  /// What it took: to draft, if it did, and to verify so many drafts of all
  /// its sequences together.
  void record(int64_t drafts, double draftSeconds, double verifySeconds);
  /// Verified drafts whose survivals add up to `promised`; so many stood.
  void recordAccepted(double promised, int64_t accepted) {
    trust.add(promised, accepted);
  }

  /// How many drafts of a block with these confidences to verify.
  int64_t length(const std::vector<float> &confidences) const {
    return verifiedLength(confidences, costs(), trust.value());
  }

  /// Of the steps so far; there was one of each kind.
  StepCosts costs() const;

private:
  int64_t width;
  int64_t sequences = 0;
  RunningMedian draft, row, extraRow;
  DraftTrust trust;
  /// Steps since a step was measured without drafts, and with.
  int64_t sincePlain = 0, sinceDrafts = 0;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DRAFTSCHEDULE_H
