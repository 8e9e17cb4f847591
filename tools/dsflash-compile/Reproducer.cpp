//===- Reproducer.cpp - A file to repeat a failed pipeline ----------------===//

#include "Reproducer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {
struct FileStream : ReproducerStream {
  FileStream(std::string path, int descriptor)
      : path(std::move(path)), stream(descriptor, /*shouldClose=*/true) {}
  StringRef description() override { return path; }
  raw_ostream &os() override { return stream; }

  std::string path;
  llvm::raw_fd_ostream stream;
};
} // namespace

Reproducer::Reproducer(PassManager &passes) {
  passes.enableCrashReproducerGeneration(
      [file = file](std::string &error) -> std::unique_ptr<ReproducerStream> {
        SmallString<128> path;
        int descriptor;
        if (std::error_code code = llvm::sys::fs::createTemporaryFile(
                "dsflash", "mlir", descriptor, path)) {
          error = "no reproducer: " + code.message();
          return nullptr;
        }
        *file = path.str().str();
        return std::make_unique<FileStream>(*file, descriptor);
      });
}
