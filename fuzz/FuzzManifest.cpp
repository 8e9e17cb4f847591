//===- FuzzManifest.cpp - manifest.json of a compiled model ---------------===//

#include "Fuzz.h"

#include "dsflash/Runtime/Model.h"

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<Manifest> manifest =
      parseManifest(fuzz::text(data, size), "manifest.json");
  if (manifest)
    fuzz::require(manifest->bosToken >= -1 && manifest->eosToken >= -1,
                  "token ids are ids");
  return 0;
}
