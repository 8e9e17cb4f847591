//===- ExternalProgram.cpp - ptxas and the linker -------------------------===//

#include "ExternalProgram.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace mlir::dsflash;

Expected<TemporaryFile> mlir::dsflash::makeTemporaryFile(StringRef suffix) {
  SmallString<128> folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  auto file = TemporaryFile::create(folder + "/dsflash-%%%%%%" + suffix);
  if (!file)
    return makeError(folder + ": " + toString(file.takeError()));
  return file;
}

static std::string useNames(std::string text, ArrayRef<GivenFile> files) {
  for (const GivenFile &file : files) {
    SmallVector<StringRef> parts;
    StringRef(text).split(parts, file.path);
    text = join(parts, file.name);
  }
  return text;
}

Expected<std::string>
mlir::dsflash::runExternalProgram(StringRef program,
                                  ArrayRef<StringRef> arguments,
                                  ArrayRef<GivenFile> files) {
  auto messages = makeTemporaryFile(".log");
  if (!messages)
    return messages.takeError();
  std::optional<StringRef> redirects[] = {StringRef(), messages->path(),
                                          messages->path()};
  std::string why;
  int code = sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0,
                                 0, &why);
  std::string text = StringRef(messages->read()).trim().str();
  if (code == 0)
    return text;
  if (!text.empty())
    why = useNames(text, files);
  else if (why.empty())
    why = "fails with exit code " + std::to_string(code);
  return makeError(program + ": " + why);
}
