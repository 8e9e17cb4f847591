//===- Weights.h - Random packed weights and their values -------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_KERNELS_WEIGHTS_H
#define DSFLASH_UNITTESTS_KERNELS_WEIGHTS_H

#include "dsflash/ABI/QuantFormats.h"
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace dsflash_test {

/// A [rows, columns] weight as stored; a format is named by its element type.
struct Weight {
  std::string format; // as in the type: "e4m3, e8m0, [32, 32]"
  int64_t rows;
  int64_t columns;
  int64_t blockRows = 1;
  std::vector<uint8_t> payload;
  std::vector<uint8_t> scales;

  static constexpr int64_t blockColumns = 32;

  Weight(const std::string &element, int64_t rows, int64_t columns,
         std::mt19937 &random)
      : format(element), rows(rows), columns(columns) {
    int64_t bits = element == "f32"    ? 32
                   : element == "bf16" ? 16
                   : element == "e4m3" ? 8
                                       : 4;
    payload.resize(rows * columns * bits / 8);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows * columns; ++i)
      setElement(i, bits, normal(random));
    if (bits > 8)
      return;
    blockRows = bits == 8 ? 32 : 1;
    format += ", e8m0, [" + std::to_string(blockRows) + ", 32]";
    scales.resize((rows + blockRows - 1) / blockRows * getScaleCount());
    for (uint8_t &scale : scales)
      scale = 120 + random() % 10;
  }

  int64_t getScaleCount() const {
    return (columns + blockColumns - 1) / blockColumns;
  }
  std::string getType() const {
    return "!dsflash.weight<[" + std::to_string(rows) + ", " +
           std::to_string(columns) + "], <" + format + ">>";
  }

  double get(int64_t row, int64_t column) const {
    int64_t i = row * columns + column;
    if (format == "f32")
      return dsf_f32_from_bits(getWord(i, 4));
    if (format == "bf16")
      return dsf_bf16_decode(getWord(i, 2));
    float value = format[1] == '4'
                      ? dsf_e4m3_decode(payload[i])
                      : dsf_e2m1_decode(payload[i / 2] >> i % 2 * 4 & 15);
    return double(value) *
           dsf_e8m0_decode(scales[row / blockRows * getScaleCount() +
                                  column / blockColumns]);
  }

private:
  uint32_t getWord(int64_t i, int64_t bytes) const {
    uint32_t word = 0;
    memcpy(&word, &payload[i * bytes], bytes);
    return word;
  }
  void setElement(int64_t i, int64_t bits, float value) {
    uint32_t word = dsf_f32_bits(value);
    if (bits == 16)
      word = dsf_bf16_encode(value);
    else if (bits == 8)
      word = dsf_e4m3_encode(value * 100);
    else if (bits == 4)
      word = payload[i / 2] | dsf_e2m1_encode(value * 2) << i % 2 * 4;
    memcpy(&payload[i * bits / 8], &word, std::max<int64_t>(bits / 8, 1));
  }
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_KERNELS_WEIGHTS_H
