//===- ConfigChecks.h - What the fields of a config say together -*- C++
//-*-===//

#ifndef DSFLASH_LIB_MODEL_CONFIGCHECKS_H
#define DSFLASH_LIB_MODEL_CONFIGCHECKS_H

#include "ConfigReader.h"
#include "dsflash/Model/ModelConfig.h"

namespace dsflash {

/// Values of a row that share a scale.
constexpr int64_t kQuantGroup = 32;

/// Adds a fault for each field that contradicts others: widths, token ids,
/// experts, the layer plan, Engram, drafts, vision. Fields that stayed unknown
/// are left out, because their fault was already reported. `prefix` is the JSON
/// path of the text config in the document.
void checkConsistency(ModelConfig &config, const nlohmann::json &document,
                      std::string prefix, ConfigFaults &faults);

} // namespace dsflash

#endif // DSFLASH_LIB_MODEL_CONFIGCHECKS_H
