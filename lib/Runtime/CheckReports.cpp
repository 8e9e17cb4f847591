//===- CheckReports.cpp - What the checks of a checked model found --------===//

#include "dsflash/Runtime/CheckReports.h"

#include <string>

using namespace dsflash;

namespace {

std::string outside(const char *what, const CheckReport &report) {
  return std::string(what) + " " + std::to_string(report.found) +
         " outside [0, " + std::to_string(report.expected) + ")";
}

std::string describe(uint32_t kind, const CheckReport &report) {
  switch (kind) {
  case DSF_CHECK_NAN:
    return "NaN in result";
  case DSF_CHECK_EXPERT:
    return outside("expert id", report);
  case DSF_CHECK_ROW:
    return outside("row", report);
  case DSF_CHECK_SLOT:
    return "ring slot " + std::to_string(report.slot) + " holds " +
           (report.found < 0 ? "no position"
                             : "position " + std::to_string(report.found)) +
           ", " + std::to_string(report.expected) + " expected";
  }
  return "check of kind " + std::to_string(kind) + " failed";
}

} // namespace

void CheckReports::add(const CheckReport &report) {
  std::lock_guard<std::mutex> lock(mutex);
  // Rows of one launch come in any order; the lowest position is the same in
  // every run.
  bool isSameLaunch =
      first && first->check == report.check && first->layer == report.layer;
  if (!first || (isSameLaunch && report.position < first->position))
    first = report;
}

Status CheckReports::status(const dsf_module &module) const {
  std::lock_guard<std::mutex> lock(mutex);
  if (!first)
    return Status();
  if (first->check < 0 || first->check >= module.check_count)
    return Status::error("check " + std::to_string(first->check),
                         "failed, but the module has no such check");
  const dsf_check &check = module.checks[first->check];
  std::string name = check.name;
  if (size_t place = name.find("{l}"); place != std::string::npos)
    name.replace(place, 3, std::to_string(first->layer));
  std::string why = describe(check.kind, *first);
  if (first->position >= 0)
    why = "position " + std::to_string(first->position) + ": " + why;
  return Status::error(name, why);
}
