//===- Trace.cpp - Records and replaces observed values -------------------===//

#include "dsflash/Runtime/Trace.h"
#include "dsflash/ABI/QuantFormats.h"

#include <algorithm>
#include <cstring>

using namespace dsflash;

namespace {

size_t elementBytes(const dsf_probe &probe) {
  return probe.type == DSF_I64 ? 8 : 4;
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

bool isReplaceable(const dsf_probe &probe) {
  return probe.type == DSF_F32 &&
         (endsWith(probe.name, ".stream") || endsWith(probe.name, ".pre"));
}

int64_t positionsPerRow(const dsf_probe &probe) {
  return std::max<int64_t>(probe.positions_per_row, 1);
}

/// The values as I32, or empty if one does not fit.
std::vector<char> narrowed(const std::vector<char> &bytes) {
  std::vector<char> result(bytes.size() / 2);
  for (size_t i = 0; i * 8 < bytes.size(); ++i) {
    int64_t wide;
    std::memcpy(&wide, &bytes[i * 8], 8);
    auto narrow = int32_t(wide);
    if (narrow != wide)
      return {};
    std::memcpy(&result[i * 4], &narrow, 4);
  }
  return result;
}

} // namespace

std::string dsflash::sequencePrefix(int64_t sequence, int64_t sequences) {
  return sequences == 1 ? "" : "p" + std::to_string(sequence) + ".";
}

Result<std::unique_ptr<Trace>> Trace::create(const dsf_module &module,
                                             std::vector<int64_t> promptLengths,
                                             const Options &options) {
  if (module.probe_count == 0)
    return Status::error("model.so", "no observation points; compile the model "
                                     "with --probes");
  std::unique_ptr<Trace> trace(
      new Trace(module, std::move(promptLengths), options.record));
  if (!options.force.empty()) {
    Result<SafetensorsFile> file = SafetensorsFile::open(options.force);
    if (!file)
      return file.status();
    trace->forcePath = options.force;
    trace->forced = std::move(*file);
  }
  return trace;
}

int64_t Trace::rowElements(const dsf_probe &probe) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < probe.rank; ++i)
    elements *= probe.extents[i];
  return elements;
}

int64_t Trace::promptRows(const dsf_probe &probe, int64_t sequence) const {
  return lengths[size_t(sequence)] / positionsPerRow(probe);
}

std::string Trace::tensorName(const Key &key) const {
  auto [probe, layer, sequence] = key;
  return sequencePrefix(sequence, int64_t(lengths.size())) +
         expandName(module.probes[probe].name, layer);
}

Trace::Recorded &Trace::recordedTensor(const Key &key) {
  Recorded &tensor = recorded[key];
  if (!tensor.shape.empty())
    return tensor;
  const dsf_probe &probe = module.probes[std::get<0>(key)];
  int64_t rows = promptRows(probe, std::get<2>(key));
  tensor.shape = {rows};
  tensor.shape.insert(tensor.shape.end(), probe.extents,
                      probe.extents + probe.rank);
  tensor.bytes.resize(size_t(rows * rowElements(probe)) * elementBytes(probe));
  return tensor;
}

const TensorInfo *Trace::replacement(const Key &key) {
  const dsf_probe &probe = module.probes[std::get<0>(key)];
  if (!forced || !isReplaceable(probe))
    return nullptr;
  auto [entry, isNew] = replacements.try_emplace(key, nullptr);
  if (!isNew)
    return entry->second;
  std::string name = tensorName(key);
  const TensorInfo *tensor = forced->find(name);
  if (!tensor)
    return nullptr;
  int64_t rows = promptRows(probe, std::get<2>(key));
  std::vector<int64_t> expected = {rows};
  expected.insert(expected.end(), probe.extents, probe.extents + probe.rank);
  std::vector<int64_t> shape = tensor->shape;
  if (!shape.empty() && shape[0] > rows)
    shape[0] = rows;
  if (shape != expected)
    faults.add(forcePath, "tensor '" + name + "' has shape " +
                              shapeString(tensor->shape) +
                              ", the prompt needs " + shapeString(expected));
  else if (tensor->dtype != DType::F32 && tensor->dtype != DType::BF16)
    faults.add(forcePath, "tensor '" + name + "' is " +
                              dtypeName(tensor->dtype) +
                              ", only F32 and BF16 can replace values");
  else
    entry->second = tensor;
  return entry->second;
}

void Trace::replaceRow(const TensorInfo &tensor, int64_t row, int64_t elements,
                       float *to) const {
  const char *data = forced->data(tensor);
  if (tensor.dtype == DType::F32) {
    std::memcpy(to, data + row * elements * 4, size_t(elements) * 4);
    return;
  }
  for (int64_t i = 0; i < elements; ++i) {
    uint16_t code;
    std::memcpy(&code, data + (row * elements + i) * 2, 2);
    to[i] = dsf_bf16_decode(code);
  }
}

void Trace::observe(int32_t number, int64_t layer, void *data, int64_t rows,
                    const RowTable &table) {
  if (number < 0 || number >= module.probe_count || rows != table.rows())
    return faults.add("model.so",
                      "observation point " + std::to_string(number) + " has " +
                          std::to_string(rows) + " rows, the call has " +
                          std::to_string(table.rows()));
  const dsf_probe &probe = module.probes[number];
  int64_t elements = rowElements(probe), stride = positionsPerRow(probe);
  size_t bytes = size_t(elements) * elementBytes(probe);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = table.position[size_t(row)];
    if ((position + 1) % stride != 0)
      continue;
    const Session &session = *table.sessions[size_t(table.sequence[row])];
    Key key{number, layer, session.index()};
    char *value = static_cast<char *>(data) + size_t(row) * bytes;
    if (recording)
      std::memcpy(&recordedTensor(key).bytes[size_t(position / stride) * bytes],
                  value, bytes);
    if (const TensorInfo *tensor = replacement(key))
      replaceRow(*tensor, position / stride, elements,
                 reinterpret_cast<float *>(value));
  }
}

void Trace::addDraft(int64_t sequence, DraftBlock block) {
  drafts[sequence] = std::move(block);
}

Status Trace::checkForced() const {
  bool any = std::any_of(replacements.begin(), replacements.end(),
                         [](const auto &entry) { return entry.second; });
  if (!forced || any)
    return Status();
  return Status::error(forcePath, "no tensor has the name of a 'stream' or "
                                  "'pre' observation point of this model");
}

Status Trace::write(const std::string &path) const {
  std::vector<TensorView> views;
  std::vector<std::vector<char>> narrow;
  narrow.reserve(recorded.size());
  for (const auto &[key, tensor] : recorded) {
    const dsf_probe &probe = module.probes[std::get<0>(key)];
    DType dtype = probe.type == DSF_F32 ? DType::F32 : DType::I32;
    const char *data = tensor.bytes.data();
    if (probe.type == DSF_I64) {
      narrow.push_back(narrowed(tensor.bytes));
      bool fits = !narrow.back().empty() || tensor.bytes.empty();
      dtype = fits ? DType::I32 : DType::I64;
      data = fits ? narrow.back().data() : data;
    }
    views.push_back({tensorName(key), dtype, tensor.shape, data});
  }
  for (const auto &[sequence, block] : drafts) {
    std::string name =
        sequencePrefix(sequence, int64_t(lengths.size())) + "draft.";
    auto size = int64_t(block.tokens.size());
    views.push_back({name + "tokens", DType::I32, {size}, block.tokens.data()});
    views.push_back({name + "logits",
                     DType::F32,
                     {size, module.vocab_size},
                     block.logits.data()});
    views.push_back(
        {name + "confidence", DType::F32, {size}, block.confidence.data()});
  }
  return writeSafetensors(path, views);
}
