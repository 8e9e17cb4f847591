//===- RandomWeights.cpp - Normal weights in every format -----------------===//

#include "RandomWeights.h"
#include "dsflash/ABI/QuantFormats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

using namespace dsflash;

//===----------------------------------------------------------------------===//
// Spread
//===----------------------------------------------------------------------===//

namespace {

/// What the number of a rule is.
enum class Rule {
  Gain,      ///< deviation of the output of a linear layer with unit input
  Deviation, ///< of the weight itself
  Mean       ///< the deviation is a fifth of it
};

struct SpreadRule {
  std::string_view suffix;
  Rule rule;
  double value;
};

/// The first suffix that fits decides.
constexpr SpreadRule kSpreadRules[] = {
    {"engram.embed.weight", Rule::Deviation, 0.5},
    {"markov_head.embed.weight", Rule::Deviation, 0.5},
    {"embed.weight", Rule::Deviation, 0.12},
    {"engram.q_weight", Rule::Mean, 1},
    {"engram.k_weight", Rule::Mean, 1},
    {"engram.wkv.weight", Rule::Gain, 1},
    {"attn_norm.weight", Rule::Mean, 0.5},
    {"ffn_norm.weight", Rule::Mean, 0.5},
    {"q_norm.weight", Rule::Mean, 0.97},
    {"k_norm.weight", Rule::Mean, 0.5},
    {"kv_norm.weight", Rule::Mean, 0.8},
    {"compressor.norm.weight", Rule::Mean, 0.8},
    {"norm.weight", Rule::Mean, 1},
    {"norm1.weight", Rule::Mean, 1},
    {"norm2.weight", Rule::Mean, 1},
    {"attn_sink", Rule::Deviation, 1},
    {"wq_a.weight", Rule::Gain, 1.6},
    {"indexer.wq_b.weight", Rule::Gain, 1},
    {"wq_b.weight", Rule::Gain, 0.95},
    {"wkv.weight", Rule::Gain, 1.8},
    {"wgate.weight", Rule::Gain, 1.8},
    {"wo_a.weight", Rule::Gain, 1.6},
    {"wo_b.weight", Rule::Gain, 1.9},
    {"gate.weight", Rule::Gain, 2.9},
    {"gate.bias", Rule::Deviation, 0.05},
    {"gate.bias_vl", Rule::Deviation, 0.05},
    {"mlp.w2.weight", Rule::Gain, 1},
    {"aligner.w1.weight", Rule::Gain, 1},
    {"aligner.w2.weight", Rule::Gain, 0.2},
    {"aligner.w2.bias", Rule::Deviation, 0.02},
    {"w1.weight", Rule::Gain, 1.5},
    {"w2.weight", Rule::Gain, 1.05},
    {"w3.weight", Rule::Gain, 1.5},
    {"_base", Rule::Deviation, 0.5},
    {"_scale", Rule::Mean, 1},
    {"markov_head.head.weight", Rule::Gain, 1},
    {"head.weight", Rule::Gain, 3},
    {"patch_embed.proj.weight", Rule::Gain, 1.5},
    {"wqkv.weight", Rule::Gain, 1.5},
    {".bias", Rule::Deviation, 0.1},
    {"image_start", Rule::Deviation, 0.12},
    {"image_end", Rule::Deviation, 0.12},
    {"image_newline", Rule::Deviation, 0.12},
    {"", Rule::Gain, 1},
};

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.substr(text.size() - suffix.size()) == suffix;
}

} // namespace

Spread dsflash::weightSpread(const WeightInfo &weight) {
  const SpreadRule *found =
      std::find_if(std::begin(kSpreadRules), std::end(kSpreadRules),
                   [&](const SpreadRule &rule) {
                     return endsWith(weight.name, rule.suffix);
                   });
  switch (found->rule) {
  case Rule::Gain:
    return {0, found->value / std::sqrt(double(weight.shape.back()))};
  case Rule::Deviation:
    return {0, found->value};
  case Rule::Mean:
    return {found->value, found->value / 5};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {

/// Sixteen random bits choose one of these.
constexpr size_t kDraws = 1 << 16;
constexpr size_t kPieceBytes = 1 << 20;

/// Deviations that a block scale must hold: about the largest of the 1024
/// values of an FP8 block, and of the 32 of an FP4 group.
constexpr double kFP8Reach = 3.5, kFP4Reach = 2.5;
constexpr double kFP8Largest = 448, kFP4Largest = 6;

using Normals = std::array<float, kDraws>;

/// A standard normal distribution by the polar method, on a grid of 256 radii
/// of equal probability and 256 angles: mean 0, largest value 3.5.
const Normals &standardNormals() {
  static const Normals table = [] {
    Normals values;
    constexpr int kSteps = 256;
    for (int i = 0; i < kSteps; ++i)
      for (int j = 0; j < kSteps; ++j)
        values[size_t(i * kSteps + j)] =
            float(std::sqrt(-2 * std::log((i + 0.5) / kSteps)) *
                  std::cos(2 * M_PI * (j + 0.5) / kSteps));
    return values;
  }();
  return table;
}

/// The E8M0 scale of every block of a quantized weight.
uint8_t scaleCode(WeightFormat format, float deviation) {
  double largest = format == WeightFormat::FP4 ? kFP4Reach / kFP4Largest
                                               : kFP8Reach / kFP8Largest;
  return dsf_e8m0_encode(float(deviation * largest));
}

/// The payload byte that each draw stands for.
std::vector<uint8_t> payloadCodes(WeightFormat format, float deviation) {
  float unit = deviation / dsf_e8m0_decode(scaleCode(format, deviation));
  const Normals &normals = standardNormals();
  auto fp4 = [&](size_t draw) {
    return dsf_e2m1_encode(
        dsf_clamp(unit * normals[draw % kDraws], float(kFP4Largest)));
  };
  // An odd factor permutes the draws: the two halves of a byte are unrelated.
  constexpr size_t kPermutation = 40503;
  std::vector<uint8_t> codes(kDraws);
  for (size_t draw = 0; draw < kDraws; ++draw)
    codes[draw] = format == WeightFormat::FP4
                      ? uint8_t(fp4(draw) | fp4(draw * kPermutation) << 4)
                      : dsf_e4m3_encode(unit * normals[draw]);
  return codes;
}

} // namespace

/// SplitMix64: one state word, so that a seed is a whole generator.
uint64_t RandomWeights::next() {
  state += 0x9e3779b97f4a7c15u;
  uint64_t word = state;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

template <typename Element, typename Encode>
Status RandomWeights::writeElements(int64_t count, const Sink &sink,
                                    const Encode &encode) {
  constexpr int64_t kPiece = kPieceBytes / sizeof(Element);
  constexpr int64_t kDrawsPerWord = sizeof(uint64_t) / sizeof(uint16_t);
  std::vector<Element> piece(size_t(std::min(count, kPiece)));
  for (int64_t done = 0; done < count;) {
    int64_t length = std::min(count - done, kPiece);
    for (int64_t i = 0; i < length;) {
      uint64_t word = next();
      int64_t end = std::min(length, i + kDrawsPerWord);
      for (; i < end; ++i, word >>= 16)
        piece[size_t(i)] = encode(uint16_t(word));
    }
    if (Status status = sink(piece.data(), size_t(length) * sizeof(Element));
        !status)
      return status;
    done += length;
  }
  return {};
}

Status RandomWeights::write(const WeightInfo &weight, const TensorSpec &tensor,
                            const Sink &sink) {
  Spread spread = weightSpread(weight);
  float mean = float(spread.mean), deviation = float(spread.deviation);
  const Normals &normals = standardNormals();
  auto value = [&](uint16_t draw) { return mean + deviation * normals[draw]; };
  int64_t count = tensor.bytes() / int64_t(dtypeSize(tensor.dtype));
  switch (tensor.dtype) {
  case DType::BF16:
    return writeElements<uint16_t>(count, sink, [&](uint16_t draw) {
      return dsf_bf16_encode(value(draw));
    });
  case DType::F32:
    return writeElements<float>(count, sink, value);
  case DType::F8_E8M0:
    return writeElements<uint8_t>(
        count, sink, [code = scaleCode(weight.format, deviation)](uint16_t) {
          return code;
        });
  default:
    return writeElements<uint8_t>(
        count, sink,
        [codes = payloadCodes(weight.format, deviation)](uint16_t draw) {
          return codes[draw];
        });
  }
}
