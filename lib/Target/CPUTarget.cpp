//===- CPUTarget.cpp - The processor that code is made for ----------------===//

#include "dsflash/Target/CPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using mlir::dsflash::CPUTarget;

static constexpr StringLiteral kTriple = "x86_64-unknown-linux-gnu";
static constexpr StringLiteral kBaseline = "x86-64";
static constexpr StringLiteral kGeneric = "generic";

static constexpr StringRef kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4",
                                        kGeneric};

/// What makes a difference for the code that is generated here.
static constexpr StringRef kFeatures[] = {
    "sse3",       "ssse3",       "sse4.1",         "sse4.2",     "popcnt",
    "movbe",      "avx",         "avx2",           "fma",        "f16c",
    "bmi",        "bmi2",        "lzcnt",          "adx",        "gfni",
    "avxvnni",    "avxvnniint8", "avxvnniint16",   "avxifma",    "avxneconvert",
    "avx512f",    "avx512bw",    "avx512cd",       "avx512dq",   "avx512vl",
    "avx512ifma", "avx512vbmi",  "avx512vbmi2",    "avx512vnni", "avx512bitalg",
    "avx512bf16", "avx512fp16",  "avx512vpopcntdq"};

ArrayRef<StringRef> CPUTarget::getKnownFeatures() { return kFeatures; }
StringRef CPUTarget::getTriple() const { return kTriple; }

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// The known features of a processor, changed by flags ("+avx2", "-fma") with
/// what they imply.
static Expected<std::vector<std::string>> expand(StringRef cpu,
                                                 ArrayRef<std::string> flags) {
  InitializeNativeTarget();
  std::string error;
  Triple triple(kTriple);
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return makeError("no code generator for " + kTriple + ": " + error);
  std::unique_ptr<MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, cpu, join(flags, ",")));
  std::vector<std::string> features;
  for (StringRef name : kFeatures)
    if (subtarget->checkFeatures(("+" + name).str()))
      features.push_back(name.str());
  return features;
}

/// Features of this machine as flags.
static std::vector<std::string> getHostFlags() {
  std::vector<std::string> flags;
  auto host = sys::getHostCPUFeatures();
  for (StringRef name : kFeatures)
    if (host.lookup(name))
      flags.push_back(("+" + name).str());
  return flags;
}

static Expected<std::string> getFlag(StringRef word) {
  StringRef name = word.trim();
  bool without = name.consume_front("-");
  if (!without)
    name.consume_front("+");
  if (!is_contained(kFeatures, name))
    return makeError("unknown CPU feature '" + name +
                     "'; known: " + join(ArrayRef(kFeatures), ", "));
  return ((without ? "-" : "+") + name).str();
}

Expected<CPUTarget> CPUTarget::parse(StringRef spec) {
  SmallVector<StringRef> words;
  spec.split(words, ',');
  StringRef level = words.front();
  bool named = level.consume_front("cpu:");
  if (named ? !is_contained(kLevels, level) : level != "cpu")
    return makeError("unknown target '" + words.front() +
                     "'; known: cpu, cpu:" + join(ArrayRef(kLevels), ", cpu:"));
  CPUTarget target;
  target.tuneCPU = named ? level.str() : sys::getHostCPUName().str();
  std::vector<std::string> flags;
  if (!named)
    flags = getHostFlags();
  for (StringRef word : drop_begin(words)) {
    Expected<std::string> flag = getFlag(word);
    if (!flag)
      return flag.takeError();
    flags.push_back(*flag);
  }
  StringRef base = named && level != kGeneric ? level : StringRef(kBaseline);
  auto features = expand(base, flags);
  if (!features)
    return features.takeError();
  target.features = std::move(*features);
  return target;
}

bool CPUTarget::hasFeature(StringRef name) const {
  return is_contained(features, name);
}

std::string CPUTarget::getFeatureList() const { return join(features, ","); }

std::string CPUTarget::getFeatureFlags() const {
  return features.empty() ? "" : "+" + join(features, ",+");
}
