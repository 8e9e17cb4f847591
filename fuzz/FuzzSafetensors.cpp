//===- FuzzSafetensors.cpp - *.safetensors --------------------------------===//

#include "Fuzz.h"

#include "dsflash/Support/Safetensors.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace dsflash;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int descriptor = memfd_create("input", MFD_CLOEXEC);
  fuzz::require(write(descriptor, data, size) == ssize_t(size), "a file");
  Result<SafetensorsFile> file =
      SafetensorsFile::open("/proc/self/fd/" + std::to_string(descriptor));
  close(descriptor);
  if (!file)
    return 0;
  unsigned sum = 0;
  for (const TensorInfo &tensor : file->tensors()) {
    fuzz::require(file->find(tensor.name) == &tensor, "names are found");
    const char *bytes = file->data(tensor);
    for (uint64_t i = 0; i < tensor.size(); ++i)
      sum += uint8_t(bytes[i]);
  }
  volatile unsigned keep = sum;
  (void)keep;
  return 0;
}
