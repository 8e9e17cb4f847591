//===- Driver.cpp - The CUDA driver, found at run time --------------------===//

#include "Driver.h"

#include <dlfcn.h>

using namespace dsflash;
using namespace dsflash::cuda;

static constexpr const char *kLibrary = "libcuda.so.1";
/// The version of the API whose functions are asked for: 12.4, the first with
/// cuFuncGetParamInfo.
static constexpr int kVersion = 12040;

using GetProcAddress = CUresult (*)(const char *symbol, void **function,
                                    int version, uint64_t flags, int *status);

Result<Driver> Driver::load() {
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::error("no CUDA driver", dlerror());
  auto find =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find)
    return Status::error(kLibrary, "too old; CUDA 12.4 is needed");
  Driver driver;
  Status faults;
  auto resolve = [&](const char *name, void **function) {
    if (find(name, function, kVersion, /*flags=*/0, nullptr) != CUDA_SUCCESS)
      *function = nullptr;
  };
  auto require = [&](const char *name, void **function) {
    resolve(name, function);
    if (!*function)
      faults.add(kLibrary, std::string("no ") + name +
                               "; a driver for CUDA 12.4 is needed");
  };
#define DSFLASH_CUDA_REQUIRE(NAME, PARAMETERS)                                 \
  require(#NAME, reinterpret_cast<void **>(&driver.NAME));
#define DSFLASH_CUDA_RESOLVE(NAME, PARAMETERS)                                 \
  resolve(#NAME, reinterpret_cast<void **>(&driver.NAME));
  DSFLASH_CUDA_FUNCTIONS(DSFLASH_CUDA_REQUIRE)
  DSFLASH_CUDA_GRAPH_FUNCTIONS(DSFLASH_CUDA_RESOLVE)
#undef DSFLASH_CUDA_REQUIRE
#undef DSFLASH_CUDA_RESOLVE
  if (!faults)
    return faults;
  return driver;
}

bool Driver::hasGraphs() const {
#define DSFLASH_CUDA_IS_THERE(NAME, PARAMETERS) &&NAME
  return true DSFLASH_CUDA_GRAPH_FUNCTIONS(DSFLASH_CUDA_IS_THERE);
#undef DSFLASH_CUDA_IS_THERE
}

std::string Driver::describe(CUresult error) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &text);
  return (name ? name : "error " + std::to_string(error)) +
         (text ? std::string(": ") + text : "");
}
