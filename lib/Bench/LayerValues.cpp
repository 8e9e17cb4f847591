//===- LayerValues.cpp - What passes observation points -------------------===//

#include "LayerValues.h"

#include <charconv>
#include <cstring>

using namespace dsflash;

static const std::string kHead = "head.";

void LayerValues::observe(int32_t number, int64_t layer, void *data,
                          int64_t rows, const RowTable &table) {
  const dsf_probe &probe = module.probes[number];
  std::string name = expandName(probe.name, layer);
  int64_t stride = std::max<int64_t>(probe.positions_per_row, 1);
  Rows &kept = seen[name];
  kept.elements = 1;
  for (uint32_t i = 0; i < probe.rank; ++i)
    kept.elements *= probe.extents[i];
  for (int64_t row = 0; row < rows; ++row) {
    if ((table.position[size_t(row)] + 1) % stride != 0)
      continue;
    int64_t begin = row * kept.elements, end = begin + kept.elements;
    if (probe.type == DSF_F32) {
      const auto *values = static_cast<const float *>(data);
      kept.floats.insert(kept.floats.end(), values + begin, values + end);
    } else if (probe.type == DSF_I64) {
      const auto *values = static_cast<const int64_t *>(data);
      kept.integers.insert(kept.integers.end(), values + begin, values + end);
    } else {
      const auto *values = static_cast<const int32_t *>(data);
      kept.integers.insert(kept.integers.end(), values + begin, values + end);
    }
  }
  if (const Rows *other = replacement(name))
    std::memcpy(data, other->floats.data(),
                other->floats.size() * sizeof(float));
}

void LayerValues::showHead(const Table *values, int64_t layer) {
  shown = values;
  shownLayer = layer;
}

const LayerValues::Rows *
LayerValues::replacement(const std::string &name) const {
  if (!shown || name.compare(0, kHead.size(), kHead) != 0)
    return nullptr;
  std::string part = name.substr(kHead.size());
  auto found =
      shown->find("layers." + std::to_string(shownLayer) + ".attn." + part);
  return found == shown->end() ? nullptr : &found->second;
}

std::pair<int64_t, std::string> dsflash::splitLayer(const std::string &name) {
  static const std::string prefix = "layers.";
  int64_t layer = -1;
  if (name.compare(0, prefix.size(), prefix) == 0) {
    const char *begin = name.data() + prefix.size();
    const char *end = name.data() + name.size();
    auto [rest, error] = std::from_chars(begin, end, layer);
    if (error == std::errc() && rest != end && *rest == '.')
      return {layer, std::string(rest + 1, end)};
  }
  return {-1, name};
}
