//===- FuzzConfig.cpp - config.json ---------------------------------------===//

#include "Fuzz.h"

#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Model/ModelConfig.h"

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<nlohmann::json> document =
      parseJson(fuzz::text(data, size), "config.json");
  if (!document)
    return 0;
  Result<ModelConfig> config = parseModelConfig(*document, "config.json");
  if (!config)
    return 0;
  Result<nlohmann::json> written = parseJson(config->toJson(), "written");
  fuzz::require(written.ok(), "a written config is JSON");
  Result<ModelConfig> again = parseModelConfig(*written, "written");
  fuzz::require(again && *again == *config, "a written config reads the same");
  ModelSizes sizes = modelSizes(*config);
  fuzz::require(sizes.backbone > 0 && sizes.engram >= 0 && sizes.draft >= 0,
                "parameters can be counted");
  return 0;
}
