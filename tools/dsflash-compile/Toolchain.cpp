//===- Toolchain.cpp - The compiler's identity ----------------------------===//

#include "Toolchain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include <link.h>

using namespace llvm;

static std::string toText(ArrayRef<uint8_t> bytes) {
  return toHex(bytes, /*LowerCase=*/true);
}

/// The build id of an executable or library; without one the content's digest.
static std::string identify(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return path.str();
  auto file = object::ObjectFile::createObjectFile(**buffer);
  object::BuildIDRef id;
  if (file)
    id = object::getBuildID(file->get());
  else
    consumeError(file.takeError());
  return toText(
      id.empty() ? SHA256::hash(arrayRefFromStringRef((*buffer)->getBuffer()))
                 : id);
}

/// The program itself first, then what it has loaded from files.
static std::vector<std::string> getLoadedFiles() {
  std::vector<std::string> paths = {"/proc/self/exe"};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *list) {
        StringRef name = info->dlpi_name;
        if (name.contains('/'))
          static_cast<std::vector<std::string> *>(list)->push_back(name.str());
        return 0;
      },
      &paths);
  return paths;
}

std::string describeToolchain(const std::string &linker) {
  std::vector<std::string> files = getLoadedFiles();
  std::string libraries;
  for (const std::string &path : drop_begin(files))
    libraries += identify(path) + "\n";
  return "dsflash " DSFLASH_VERSION " " + identify(files.front()) +
         ", LLVM " DSFLASH_LLVM_VERSION ", libraries " +
         toText(SHA256::hash(arrayRefFromStringRef(libraries))) + ", linker " +
         identify(linker);
}
