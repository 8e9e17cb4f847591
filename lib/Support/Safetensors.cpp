//===- Safetensors.cpp - Reads and writes safetensors files ---------------===//

#include "dsflash/Support/Safetensors.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace dsflash;
using nlohmann::json;

namespace {

struct DTypeRow {
  DType dtype;
  const char *name;
  size_t size;
};

constexpr DTypeRow kDTypes[] = {
    {DType::BF16, "BF16", 2},       {DType::F16, "F16", 2},
    {DType::F32, "F32", 4},         {DType::F8_E4M3, "F8_E4M3", 1},
    {DType::F8_E8M0, "F8_E8M0", 1}, {DType::I8, "I8", 1},
    {DType::U8, "U8", 1},           {DType::I32, "I32", 4},
    {DType::I64, "I64", 8},
};

constexpr size_t kLengthBytes = 8;
/// Of a tensor; more would not describe a weight.
constexpr size_t kMaxRank = 4;
/// Of one file; a header that is all wrong is not repeated as a message.
constexpr size_t kMaxListedFaults = 100;

/// Bytes of a tensor, or nothing if they do not fit 63 bits.
std::optional<uint64_t> tensorBytes(DType dtype,
                                    const std::vector<int64_t> &shape) {
  int64_t bytes = dtypeSize(dtype);
  bool overflow = false;
  for (int64_t extent : shape)
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  if (overflow && std::find(shape.begin(), shape.end(), 0) == shape.end())
    return std::nullopt;
  return overflow ? 0 : bytes;
}

/// Text of a value; a wrong byte in a string becomes U+FFFD.
std::string dump(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// A non-negative integer below 2^63, or nothing.
std::optional<int64_t> asCount(const json &value) {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() > uint64_t(INT64_MAX))
    return std::nullopt;
  return value.get<int64_t>();
}

/// Reads a list of at most kMaxRank counts; false if it is anything else.
bool readCounts(const json &list, std::vector<int64_t> &counts) {
  if (!list.is_array() || list.size() > kMaxRank)
    return false;
  counts.reserve(list.size());
  for (const json &value : list) {
    std::optional<int64_t> count = asCount(value);
    if (!count)
      return false;
    counts.push_back(*count);
  }
  return true;
}

/// Checks one entry of the header against itself and the bytes that follow it.
Status readEntry(const std::string &where, const json &entry,
                 uint64_t dataBytes, TensorInfo &tensor) {
  if (!entry.is_object())
    return Status::error(where, "expected an object");
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key))
      return Status::error(where, std::string("has no \"") + key + "\"");
  const json &dtype = entry["dtype"];
  std::optional<DType> known =
      dtype.is_string() ? dtypeFromName(dtype.get_ref<const std::string &>())
                        : std::nullopt;
  if (!known)
    return Status::error(where, "unknown dtype " + dtype.dump());
  tensor.dtype = *known;
  if (!readCounts(entry["shape"], tensor.shape))
    return Status::error(where, "shape is not a list of at most " +
                                    std::to_string(kMaxRank) + " sizes");
  std::vector<int64_t> range;
  if (!readCounts(entry["data_offsets"], range) || range.size() != 2)
    return Status::error(where, "data_offsets is not a pair of offsets");
  tensor.begin = range[0];
  tensor.end = range[1];
  std::string offsets = "[" + std::to_string(tensor.begin) + ", " +
                        std::to_string(tensor.end) + "]";
  if (tensor.begin > tensor.end)
    return Status::error(where,
                         "data_offsets " + offsets + " begin behind their end");
  if (tensor.end > dataBytes)
    return Status::error(
        where, "data_offsets " + offsets + " reach beyond the " +
                   std::to_string(dataBytes) + " bytes of data in the file");
  std::optional<uint64_t> bytes = tensorBytes(tensor.dtype, tensor.shape);
  if (!bytes || *bytes != tensor.size())
    return Status::error(
        where,
        std::string(dtypeName(tensor.dtype)) + " " + shapeString(tensor.shape) +
            " needs " + (bytes ? std::to_string(*bytes) : "more than 2^63") +
            " bytes, data_offsets give " + std::to_string(tensor.size()));
  return {};
}

/// Orders tensors by their names, each of which may be there once.
Status sortByName(const std::string &path, std::vector<TensorInfo> &tensors) {
  std::sort(
      tensors.begin(), tensors.end(),
      [](const TensorInfo &a, const TensorInfo &b) { return a.name < b.name; });
  auto twice = std::adjacent_find(tensors.begin(), tensors.end(),
                                  [](const TensorInfo &a, const TensorInfo &b) {
                                    return a.name == b.name;
                                  });
  return twice == tensors.end() ? Status()
                                : Status::error(path + ": " + twice->name,
                                                "tensor is given twice");
}

/// Orders tensors by their places. The data must be covered from its first to
/// its last byte, each byte once.
Status checkCover(const std::string &path, std::vector<TensorInfo> &tensors,
                  uint64_t dataBytes) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo &a, const TensorInfo &b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  Status status;
  uint64_t covered = 0;
  for (const TensorInfo &tensor : tensors) {
    if (status.faults().size() == kMaxListedFaults)
      return status;
    if (tensor.begin < covered)
      status.add(path + ": " + tensor.name,
                 "overlaps the tensor before it, byte " +
                     std::to_string(tensor.begin) + " is taken up to " +
                     std::to_string(covered));
    else if (tensor.begin > covered)
      status.add(path + ": " + tensor.name,
                 "bytes " + std::to_string(covered) + " to " +
                     std::to_string(tensor.begin) +
                     " before it belong to no tensor");
    covered = std::max(covered, tensor.end);
  }
  if (covered != dataBytes)
    status.add(path, std::to_string(dataBytes - covered) +
                         " bytes at the end belong to no tensor");
  return status;
}

} // namespace

const char *dsflash::dtypeName(DType dtype) {
  return kDTypes[size_t(dtype)].name;
}

std::optional<DType> dsflash::dtypeFromName(std::string_view name) {
  for (const DTypeRow &row : kDTypes)
    if (name == row.name)
      return row.dtype;
  return std::nullopt;
}

size_t dsflash::dtypeSize(DType dtype) { return kDTypes[size_t(dtype)].size; }

std::string dsflash::shapeString(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  SafetensorsFile opened;
  opened.file = std::move(*file);
  Status status = opened.readHeader(path);
  if (!status)
    return status;
  return opened;
}

Status SafetensorsFile::readHeader(const std::string &path) {
  if (file.size() < kLengthBytes)
    return Status::error(path, "file of " + std::to_string(file.size()) +
                                   " bytes is too short for a safetensors "
                                   "header");
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= uint64_t(uint8_t(file.data()[i])) << (8 * i);
  if (length == 0 || length > file.size() - kLengthBytes)
    return Status::error(path, "header length " + std::to_string(length) +
                                   " does not fit the file of " +
                                   std::to_string(file.size()) + " bytes");
  dataStart = kLengthBytes + length;
  uint64_t dataBytes = file.size() - dataStart;

  std::string_view header = file.text().substr(kLengthBytes, length);
  std::string where = path + ": header";
  Status status;
  auto readAll = [&](const std::function<void(TensorInfo)> &keep) {
    notes.clear();
    auto take = [&](const std::string &name, const json &member) {
      bool isNotes = name == "__metadata__";
      TensorInfo tensor;
      Status fault =
          isNotes ? readNotes(path, member)
                  : readEntry(path + ": " + name, member, dataBytes, tensor);
      if (status.faults().size() < kMaxListedFaults)
        status.add(fault);
      tensor.name = name;
      if (fault && !isNotes)
        keep(std::move(tensor));
    };
    return parseJson(header, where, {{{}, json::value_t::object, take}})
        .status();
  };
  // Counted first, so that no entry is copied as their number grows.
  size_t count = 0;
  if (Status parsed = readAll([&](const TensorInfo &) { ++count; }); !parsed)
    return parsed;
  if (!status)
    return status;
  entries.reserve(count);
  status.add(readAll(
      [&](TensorInfo tensor) { entries.push_back(std::move(tensor)); }));
  if (status)
    status = sortByName(path, entries);
  if (status)
    status = checkCover(path, entries, dataBytes);
  if (status)
    status = sortByName(path, entries);
  return status;
}

Status SafetensorsFile::readNotes(const std::string &path,
                                  const json &metadata) {
  if (!metadata.is_object())
    return Status::error(path + ": __metadata__", "expected an object");
  if (!notes.empty())
    return Status::error(path + ": __metadata__", "is given twice");
  Status status;
  for (const auto &[key, text] : metadata.items()) {
    if (text.is_string())
      notes[key] = text.get<std::string>();
    else
      status.add(path + ": __metadata__/" + key, "expected a string");
  }
  return status;
}

const TensorInfo *SafetensorsFile::find(std::string_view name) const {
  auto found =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const TensorInfo &tensor, std::string_view n) {
                         return tensor.name < n;
                       });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

/// The JSON header; `dataBytes` becomes the size of all tensors.
static Result<std::string>
headerText(const std::string &path, const std::vector<TensorView> &tensors,
           const std::map<std::string, std::string> &metadata,
           uint64_t &dataBytes) {
  std::string text = "{";
  auto addMember = [&](const std::string &name, const json &value) {
    text += (text.size() > 1 ? "," : "") + dump(name) + ":" + dump(value);
  };
  if (!metadata.empty())
    addMember("__metadata__", metadata);
  Status status;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const TensorView &tensor : tensors) {
    std::string where = path + ": " + tensor.name;
    if (!names.insert(tensor.name).second)
      status.add(where, "tensor is given twice");
    bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                [](int64_t extent) { return extent < 0; });
    std::optional<uint64_t> bytes = tensorBytes(tensor.dtype, tensor.shape);
    if (negative || !bytes) {
      status.add(where, "impossible shape " + shapeString(tensor.shape));
      continue;
    }
    addMember(tensor.name, {{"dtype", dtypeName(tensor.dtype)},
                            {"shape", tensor.shape},
                            {"data_offsets", {offset, offset + *bytes}}});
    offset += *bytes;
  }
  if (!status)
    return status;
  text += "}";
  text.append(-text.size() % kLengthBytes, ' ');
  dataBytes = offset;
  return text;
}

Result<SafetensorsWriter>
SafetensorsWriter::create(const std::string &path,
                          const std::vector<TensorView> &tensors,
                          const std::map<std::string, std::string> &metadata) {
  uint64_t dataBytes = 0;
  Result<std::string> header = headerText(path, tensors, metadata, dataBytes);
  if (!header)
    return header.status();
  std::string start(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i)
    start[i] = char(header->size() >> (8 * i));
  start += *header;

  Result<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(start); !status)
    return status;
  return SafetensorsWriter(path, std::move(*file), dataBytes);
}

Status SafetensorsWriter::append(const void *data, size_t bytes) {
  if (bytes > missing)
    return Status::error(path, "more data than the tensors need");
  missing -= bytes;
  return file.write({static_cast<const char *>(data), bytes});
}

Status SafetensorsWriter::finish() {
  if (missing > 0)
    return Status::error(path, std::to_string(missing) +
                                   " bytes of tensor data were not given");
  return file.finish();
}

Status
dsflash::writeSafetensors(const std::string &path,
                          const std::vector<TensorView> &tensors,
                          const std::map<std::string, std::string> &metadata) {
  Result<SafetensorsWriter> writer =
      SafetensorsWriter::create(path, tensors, metadata);
  if (!writer)
    return writer.status();
  for (const TensorView &tensor : tensors)
    if (Status status = writer->append(
            tensor.data, *tensorBytes(tensor.dtype, tensor.shape));
        !status)
      return status;
  return writer->finish();
}
