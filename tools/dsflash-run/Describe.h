//===- Describe.h - What a compiled model holds and needs -------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASHRUN_DESCRIBE_H
#define DSFLASH_TOOLS_DSFLASHRUN_DESCRIBE_H

#include "dsflash/Runtime/Model.h"

#include <nlohmann/json.hpp>

#include <string>

namespace dsflash::run {

/// Entries, state, memory, weights and observation points of a module.
nlohmann::json describeJson(const Model &model);
/// The same for people.
std::string describeText(const Model &model);

} // namespace dsflash::run

#endif // DSFLASH_TOOLS_DSFLASHRUN_DESCRIBE_H
