//===- LayerValues.h - What passes observation points -----------*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_LAYERVALUES_H
#define DSFLASH_LIB_BENCH_LAYERVALUES_H

#include "dsflash/Runtime/ModelRunner.h"

#include <map>
#include <string>
#include <vector>

namespace dsflash {

/// Keeps the values of one call of a single sequence, by name, and can show the
/// head the stream of another layer in the place of its own.
class LayerValues : public ProbeObserver {
public:
  /// Rows of an observation point: floats or integers.
  struct Rows {
    int64_t elements = 0; ///< of a row
    std::vector<float> floats;
    std::vector<int64_t> integers;
  };
  using Table = std::map<std::string, Rows>;

  explicit LayerValues(const dsf_module &module) : module(module) {}

  void observe(int32_t number, int64_t layer, void *data, int64_t rows,
               const RowTable &table) override;

  /// What was seen since the last take.
  Table take() { return std::exchange(seen, {}); }
  /// From now on the head gets the stream and collapse weights that `values`
  /// has on entry to a layer; null: its own.
  void showHead(const Table *values, int64_t layer);

private:
  const Rows *replacement(const std::string &name) const;

  const dsf_module &module;
  Table seen;
  const Table *shown = nullptr;
  int64_t shownLayer = 0;
};

/// "layers.L.": the layer of a name and the rest of it; -1 and all of it where
/// it has no layer.
std::pair<int64_t, std::string> splitLayer(const std::string &name);

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_LAYERVALUES_H
