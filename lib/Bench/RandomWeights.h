//===- RandomWeights.h - Normal weights in every format ---------*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_RANDOMWEIGHTS_H
#define DSFLASH_LIB_BENCH_RANDOMWEIGHTS_H

#include "dsflash/Model/Checkpoint.h"

#include <cstdint>
#include <functional>

namespace dsflash {

/// Mean and standard deviation of a weight.
struct Spread {
  double mean = 0;
  double deviation = 1;
};

/// The spread at which activations neither vanish nor grow from layer to
/// layer, by the weight's name and width.
Spread weightSpread(const WeightInfo &weight);

/// Makes weights as stored bytes. The same seed and the same calls give the
/// same bytes.
class RandomWeights {
public:
  using Sink = std::function<Status(const void *data, size_t bytes)>;

  explicit RandomWeights(uint64_t seed) : state(seed) {}

  /// Hands one tensor of a weight, its payload or its scales, to `sink`, piece
  /// by piece.
  Status write(const WeightInfo &weight, const TensorSpec &tensor,
               const Sink &sink);

private:
  template <typename Element, typename Encode>
  Status writeElements(int64_t count, const Sink &sink, const Encode &encode);
  uint64_t next();

  uint64_t state;
};

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_RANDOMWEIGHTS_H
