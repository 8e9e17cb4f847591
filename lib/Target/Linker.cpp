//===- Linker.cpp - Objects to shared objects -----------------------------===//

#include "CodeGeneration.h"
#include "ExternalProgram.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/NativeCode.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#ifndef DSFLASH_LLD // the linker that the build found
#define DSFLASH_LLD ""
#endif

using namespace llvm;
using namespace mlir::dsflash;
using mlir::TimingScope;

//===----------------------------------------------------------------------===//
// Undefined symbols
//===----------------------------------------------------------------------===//

template <typename Symbols>
static Expected<std::vector<std::string>> collectUndefined(Symbols symbols) {
  std::vector<std::string> names;
  for (const object::SymbolRef &symbol : symbols) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    // The linker makes this one.
    bool own = *name == "_GLOBAL_OFFSET_TABLE_" || name->empty();
    if ((*flags & object::SymbolRef::SF_Undefined) && !own)
      names.push_back(name->str());
  }
  llvm::sort(names);
  return names;
}

static Error checkUndefined(MemoryBufferRef object) {
  auto file = object::ObjectFile::createObjectFile(object);
  if (!file)
    return file.takeError();
  auto names = collectUndefined((*file)->symbols());
  if (!names)
    return names.takeError();
  erase_if(*names, [](StringRef name) {
    return is_contained(getAllowedExternalFunctions(), name);
  });
  if (names->empty())
    return Error::success();
  return makeError(object.getBufferIdentifier() +
                   ": generated code needs functions that no runtime offers: " +
                   join(*names, ", "));
}

Expected<std::vector<std::string>>
mlir::dsflash::getUndefinedSymbols(StringRef path) {
  auto file = object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  auto *elf = dyn_cast<object::ELFObjectFileBase>(file->getBinary());
  if (!elf)
    return makeError(path + ": not an ELF file");
  return collectUndefined(elf->getDynamicSymbolIterators());
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

Expected<std::string> mlir::dsflash::findLinker() {
  for (StringRef candidate :
       {DSFLASH_LLD, "ld.lld-22", "ld.lld", "/usr/lib/llvm-22/bin/ld.lld"}) {
    if (candidate.empty())
      continue;
    if (ErrorOr<std::string> path = sys::findProgramByName(candidate))
      return *path;
  }
  return makeError("no linker: install lld-22 (ld.lld-22 or ld.lld in PATH)");
}

static Error link(StringRef linker, GivenFile object, GivenFile output) {
  return runExternalProgram(linker,
                            {"ld.lld", "-shared", "--build-id=none",
                             "--hash-style=gnu", "--gc-sections", "-Bsymbolic",
                             "-z", "noexecstack", "-o", output.path,
                             object.path},
                            {object, output})
      .takeError();
}

Error mlir::dsflash::emitSharedObject(StringRef llvmIR, StringRef name,
                                      StringRef path, TimingScope timing) {
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  auto code = emitObject(llvmIR, name, timing);
  if (!code)
    return code.takeError();
  if (Error error = checkUndefined(MemoryBufferRef(*code, name)))
    return error;
  auto object = TemporaryFile::create(path + ".%%%%%%.o");
  if (!object)
    return object.takeError();
  auto output = TemporaryFile::create(path + ".%%%%%%.so");
  if (!output)
    return output.takeError();
  TimingScope linking = timing.nest("linking");
  if (Error error = object->write(*code))
    return error;
  if (Error error = link(*linker, {object->path(), name},
                         {output->path(), sys::path::filename(path)}))
    return error;
  return output->keep(path);
}
