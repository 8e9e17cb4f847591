//===- Ptxas.cpp - The assembler of PTX -----------------------------------===//

#include "ExternalProgram.h"
#include "dsflash/Target/DeviceCode.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <glob.h>

using namespace mlir;
using namespace mlir::dsflash;

static std::string joinPath(StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "bin", "ptxas");
  return path.str().str();
}

static std::string getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The package nvidia-cuda-nvcc has it in nvidia/cu13/bin; the last version.
static std::string findInPythonPackages() {
  std::string found;
  for (const std::string &prefix :
       {getVariable("VIRTUAL_ENV"), getVariable("HOME") + "/.local",
        std::string("/usr/local"), std::string("/usr")}) {
    std::string pattern =
        prefix + "/lib/python3*/*-packages/nvidia/*/bin/ptxas";
    glob_t matches{};
    if (!prefix.empty() && glob(pattern.c_str(), 0, nullptr, &matches) == 0)
      found = matches.gl_pathv[matches.gl_pathc - 1];
    globfree(&matches);
    if (!found.empty())
      break;
  }
  return found;
}

/// A path as it is, a name from PATH; empty: no such program.
static std::string findProgram(StringRef name) {
  auto path = llvm::sys::findProgramByName(name);
  return path && llvm::sys::fs::can_execute(*path) ? *path : "";
}

llvm::Expected<std::string> mlir::dsflash::findPtxas(StringRef wanted) {
  if (!wanted.empty()) {
    std::string path = findProgram(wanted);
    if (path.empty())
      return makeError("no program '" + wanted + "'");
    return path;
  }
  std::string toolkit = getVariable("CUDA_HOME");
  for (const std::string &candidate :
       {getVariable("DSFLASH_PTXAS"), std::string("ptxas"),
        toolkit.empty() ? "" : joinPath(toolkit), joinPath("/usr/local/cuda"),
        findInPythonPackages()}) {
    std::string path = candidate.empty() ? "" : findProgram(candidate);
    if (!path.empty())
      return path;
  }
  return makeError("no ptxas in DSFLASH_PTXAS, PATH, CUDA_HOME, "
                   "/usr/local/cuda or a Python package; the package "
                   "nvidia-cuda-nvcc has it");
}

llvm::Expected<std::string> mlir::dsflash::getPtxasVersion(StringRef ptxas) {
  return runExternalProgram(ptxas, {"ptxas", "--version"});
}

/// A run on a text; `take` gets the messages and the cubin.
static llvm::Error
assemble(StringRef ptxas, StringRef ptx, const NVPTXTarget &target,
         llvm::function_ref<void(StringRef, std::string)> take) {
  auto source = makeTemporaryFile(".ptx");
  if (!source)
    return source.takeError();
  auto output = makeTemporaryFile(".cubin");
  if (!output)
    return output.takeError();
  if (llvm::Error error = source->write(ptx))
    return error;
  std::string architecture = ("-arch=" + target.getChip()).str();
  std::string textName = ("PTX for " + target.getChip()).str();
  std::string cubinName = ("cubin for " + target.getChip()).str();
  // Kernels in parallel.
  auto messages = runExternalProgram(
      ptxas,
      {"ptxas", "-O3", "--split-compile=0", architecture, source->path(), "-o",
       output->path(), "-v"},
      {{source->path(), textName}, {output->path(), cubinName}});
  if (!messages)
    return messages.takeError();
  take(*messages, output->read());
  return llvm::Error::success();
}

llvm::Expected<std::string>
mlir::dsflash::assemblePTX(StringRef ptxas, StringRef ptx,
                           const NVPTXTarget &target) {
  std::string cubin;
  if (llvm::Error error =
          assemble(ptxas, ptx, target, [&](StringRef, std::string bytes) {
            cubin = std::move(bytes);
          }))
    return std::move(error);
  return cubin;
}

llvm::Expected<llvm::StringMap<KernelResources>>
mlir::dsflash::getKernelResources(StringRef ptxas, StringRef ptx,
                                  const NVPTXTarget &target) {
  llvm::StringMap<KernelResources> resources;
  if (llvm::Error error = assemble(
          ptxas, ptx, target, [&](StringRef messages, const std::string &) {
            resources = parseResources(messages);
          }))
    return std::move(error);
  return resources;
}

/// The number in front of `unit` in a line such as "Used 40 registers, 1024
/// bytes smem"; 0 without one.
static int64_t numberBefore(StringRef line, StringRef unit) {
  int64_t number = 0;
  if (line.contains(unit))
    line.take_front(line.find(unit))
        .rtrim()
        .rsplit(' ')
        .second.getAsInteger(10, number);
  return number;
}

llvm::StringMap<KernelResources>
mlir::dsflash::parseResources(StringRef messages) {
  llvm::StringMap<KernelResources> resources;
  StringRef kernel, function;
  for (StringRef line : llvm::split(messages, '\n')) {
    if (line.contains("Compiling entry function '"))
      kernel = line.split('\'').second.split('\'').first;
    else if (line.contains("Function properties for "))
      function = line.split("Function properties for ").second.trim();
    else if (line.contains("bytes spill stores") && function == kernel)
      resources[kernel].spills = numberBefore(line, "bytes spill stores") +
                                 numberBefore(line, "bytes spill loads");
    else if (line.contains("Used ")) {
      resources[kernel].registers = numberBefore(line, "registers");
      resources[kernel].sharedMemory = numberBefore(line, "bytes smem");
    }
  }
  return resources;
}
