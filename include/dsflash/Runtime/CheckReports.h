//===- CheckReports.h - What the checks of a checked model found -*- C++ -*-==//

#ifndef DSFLASH_RUNTIME_CHECKREPORTS_H
#define DSFLASH_RUNTIME_CHECKREPORTS_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Support/Status.h"

#include <cstdint>
#include <mutex>
#include <optional>

namespace dsflash {

/// The arguments of dsf_env.report.
struct CheckReport {
  int32_t check;
  int64_t layer;
  int64_t position;
  int64_t found;
  int64_t expected;
  int64_t slot;
};

/// Keeps the first report of a call; the others follow from it. Reports may
/// come from several threads.
class CheckReports {
public:
  void add(const CheckReport &report);
  /// An error such as "layers.17.attn.csa2: position 123: NaN in result", if
  /// there was a report.
  Status status(const dsf_module &module) const;

private:
  mutable std::mutex mutex;
  std::optional<CheckReport> first;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_CHECKREPORTS_H
