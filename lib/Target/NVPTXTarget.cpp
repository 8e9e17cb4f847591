//===- NVPTXTarget.cpp - The GPU that kernels are made for ----------------===//

#include "dsflash/Target/NVPTXTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using mlir::dsflash::NVPTXTarget;

namespace {

struct Chip {
  StringLiteral name;
  unsigned ptxVersion; // the first, not below 8.0, that knows it
};

constexpr Chip kChips[] = {
    {"sm_80", 80}, {"sm_90a", 80}, {"sm_100a", 86}, {"sm_120a", 87}};

constexpr StringLiteral kKind = "nvptx";

} // namespace

bool NVPTXTarget::isSpec(StringRef spec) {
  return spec.split(':').first == kKind;
}

Expected<NVPTXTarget> NVPTXTarget::parse(StringRef spec) {
  StringRef name = spec.split(':').second;
  const Chip *chip = find_if(kChips, [&](const Chip &known) {
    return isSpec(spec) && known.name == name;
  });
  if (chip == std::end(kChips)) {
    std::string known = join(map_range(kChips,
                                       [](const Chip &chip) {
                                         return (kKind + ":" + chip.name).str();
                                       }),
                             ", ");
    return createStringError(inconvertibleErrorCode(),
                             "unknown target '" + spec + "'; known: " + known);
  }
  NVPTXTarget target;
  target.chip = chip->name;
  target.ptxVersion = chip->ptxVersion;
  return target;
}

Expected<std::vector<NVPTXTarget>> NVPTXTarget::parseList(StringRef specs) {
  std::vector<NVPTXTarget> targets;
  for (StringRef spec : split(specs, ',')) {
    auto target = parse(spec);
    if (!target)
      return target.takeError();
    if (any_of(targets, [&](const NVPTXTarget &known) {
          return known.chip == target->chip;
        }))
      return createStringError(inconvertibleErrorCode(),
                               "target '" + spec + "' is given twice");
    targets.push_back(*target);
  }
  return targets;
}

StringRef NVPTXTarget::getTriple() { return "nvptx64-nvidia-cuda"; }

std::string NVPTXTarget::getFeatureFlags() const {
  return "+ptx" + std::to_string(ptxVersion);
}
