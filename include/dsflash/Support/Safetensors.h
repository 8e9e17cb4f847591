//===- Safetensors.h - Reads and writes safetensors files -------*- C++ -*-===//
//
// A file is an 8-byte little-endian header length, a JSON header that names
// each tensor's dtype, shape and byte range, then the bytes. Nothing in the
// header is believed before it is checked against the file.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SUPPORT_SAFETENSORS_H
#define DSFLASH_SUPPORT_SAFETENSORS_H

#include "dsflash/Support/MappedFile.h"
#include "dsflash/Support/OutputFile.h"
#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// Element types of the released checkpoints and of our own result files.
enum class DType { BF16, F16, F32, F8_E4M3, F8_E8M0, I8, U8, I32, I64 };

/// Name of a dtype as the header spells it.
const char *dtypeName(DType dtype);
/// Dtype of a name in a header, or nothing if it is not one of ours.
std::optional<DType> dtypeFromName(std::string_view name);
/// Bytes of one element.
size_t dtypeSize(DType dtype);
/// "[3, 4]".
std::string shapeString(const std::vector<int64_t> &shape);

/// One tensor of a file.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// Byte range, counted from the end of the header.
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// An open file whose header was checked: byte ranges lie inside the file,
/// fit dtype and shape, and cover the data without overlap or hole.
class SafetensorsFile {
public:
  /// Maps the file and checks its header; lists all faults of its tensors.
  static Result<SafetensorsFile> open(const std::string &path);

  /// All tensors, ordered by name.
  const std::vector<TensorInfo> &tensors() const { return entries; }
  /// The tensor of that name, or null.
  const TensorInfo *find(std::string_view name) const;
  /// First byte of a tensor of this file. The format promises no alignment.
  const char *data(const TensorInfo &tensor) const {
    return file.data() + dataStart + tensor.begin;
  }
  /// Offset of the tensor data in the file, in bytes.
  uint64_t dataOffset() const { return dataStart; }
  /// The free text pairs of the header's "__metadata__".
  const std::map<std::string, std::string> &metadata() const { return notes; }

private:
  Status readHeader(const std::string &path);
  Status readNotes(const std::string &path, const nlohmann::json &metadata);

  MappedFile file;
  uint64_t dataStart = 0;
  std::vector<TensorInfo> entries;
  std::map<std::string, std::string> notes;
};

/// A tensor to be written; `data` holds prod(shape) elements.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// Writes a file piece by piece, in constant memory: beside its path, so that
/// no half-written file ever carries the name.
class SafetensorsWriter {
public:
  /// Begins a file of these tensors, in this order; their `data` is not looked
  /// at. Errors: a name twice, a negative or too large shape, any failure of
  /// the file system.
  static Result<SafetensorsWriter>
  create(const std::string &path, const std::vector<TensorView> &tensors,
         const std::map<std::string, std::string> &metadata = {});

  /// Adds the next bytes of the data, tensor after tensor.
  Status append(const void *data, size_t bytes);
  /// Closes the file and gives it its name. Error: more or less data than the
  /// tensors need, any failure of the file system.
  Status finish();

private:
  SafetensorsWriter(std::string path, OutputFile file, uint64_t missing)
      : path(std::move(path)), file(std::move(file)), missing(missing) {}

  std::string path;
  OutputFile file;
  uint64_t missing; ///< bytes of data still to come
};

/// Writes a file of these tensors at once; errors as of SafetensorsWriter.
Status
writeSafetensors(const std::string &path,
                 const std::vector<TensorView> &tensors,
                 const std::map<std::string, std::string> &metadata = {});

} // namespace dsflash

#endif // DSFLASH_SUPPORT_SAFETENSORS_H
