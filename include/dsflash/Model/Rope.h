//===- Rope.h - Rotary frequencies ------------------------------*- C++ -*-===//
//
// Which frequencies a layer rotates with. Their rounding is part of the model:
// at long positions it decides the angle.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_MODEL_ROPE_H
#define DSFLASH_MODEL_ROPE_H

#include "dsflash/Model/ModelConfig.h"

#include <vector>

namespace dsflash {

/// Radians per position of each rotated pair, [qk_rope_head_dim / 2], computed
/// step by step in float32 (SPEC section 3, Attention). `compressed` layers
/// (ratio above 0) use compress_rope_theta and YaRN, the others rope_theta
/// alone. The angle of a position is the float32 product of the two.
std::vector<float> ropeFrequencies(const ModelConfig &config, bool compressed);

} // namespace dsflash

#endif // DSFLASH_MODEL_ROPE_H
