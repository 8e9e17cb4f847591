//===- Linker.cpp - Objects to shared objects -----------------------------===//

#include "CodeGeneration.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/NativeCode.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"

#ifndef DSFLASH_LLD // the linker that the build found
#define DSFLASH_LLD ""
#endif

using namespace llvm;
using namespace mlir::dsflash;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

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

namespace {

/// A file that is gone at the end, whatever happens.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(const Twine &model) {
    SmallString<128> path;
    if (std::error_code code = sys::fs::createUniqueFile(model, path))
      return makeError(model + ": " + code.message());
    sys::RemoveFileOnSignal(path);
    return TemporaryFile(path);
  }
  TemporaryFile(TemporaryFile &&other) : name(std::move(other.name)) {
    other.name.clear();
  }
  ~TemporaryFile() {
    if (name.empty())
      return;
    sys::fs::remove(name);
    sys::DontRemoveFileOnSignal(name);
  }

  StringRef path() const { return name; }
  Error write(StringRef content) const {
    return writeToOutput(name, [&](raw_ostream &stream) {
      stream << content;
      return Error::success();
    });
  }
  std::string read() const {
    auto buffer = MemoryBuffer::getFile(name);
    return buffer ? (*buffer)->getBuffer().trim().str() : "";
  }
  /// Gives the file its last name.
  Error keep(StringRef path) {
    if (std::error_code code = sys::fs::rename(name, path))
      return makeError(path + ": " + code.message());
    sys::DontRemoveFileOnSignal(name);
    name.clear();
    return Error::success();
  }

private:
  explicit TemporaryFile(StringRef path) : name(path) {}
  std::string name;
};

} // namespace

static Error link(StringRef linker, StringRef object, StringRef output,
                  const TemporaryFile &messages) {
  std::string name = "ld.lld";
  std::optional<StringRef> redirects[] = {StringRef(), messages.path(),
                                          messages.path()};
  std::string error;
  int code = sys::ExecuteAndWait(
      linker,
      {name, "-shared", "--build-id=none", "--hash-style=gnu", "--gc-sections",
       "-Bsymbolic", "-z", "noexecstack", "-o", output, object},
      std::nullopt, redirects, 0, 0, &error);
  if (code == 0)
    return Error::success();
  std::string text = messages.read();
  return makeError(linker + ": " + (text.empty() ? error : text));
}

Error mlir::dsflash::emitSharedObject(StringRef llvmIR, StringRef name,
                                      StringRef path) {
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  auto code = emitObject(llvmIR, name);
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
  auto messages = TemporaryFile::create(path + ".%%%%%%.log");
  if (!messages)
    return messages.takeError();
  if (Error error = object->write(*code))
    return error;
  if (Error error = link(*linker, object->path(), output->path(), *messages))
    return error;
  return output->keep(path);
}
