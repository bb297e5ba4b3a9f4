#include "int8_keys.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace retro {
namespace {

constexpr float kLargestByte = 127.0F;
/// Rows below it are stored as zeros: their scale would be no normal number.
constexpr float kSmallestRow = 1e-30F;
/// A scale has 16 significant bits, so that 127 times it is exact in float32 and gives the scale
/// back when divided by 127.
constexpr uint32_t kUnusedBits = 0xFF;

float scale_of(std::span<const float> key) {
  float largest = 0;
  for (const float value : key) largest = std::max(largest, std::abs(value));
  if (largest < kSmallestRow) return 0;
  const auto bits = std::bit_cast<uint32_t>(largest / kLargestByte);
  const uint32_t rounded_up = (bits & kUnusedBits) == 0 ? bits : (bits | kUnusedBits) + 1;
  return std::bit_cast<float>(rounded_up);
}

}  // namespace

void encode_int8(std::span<const float> key, std::span<uint8_t> row) {
  assert(row.size() == key.size() + kScaleBytes);
  const float scale = scale_of(key);
  for (size_t i = 0; i < key.size(); ++i) {
    row[i] = scale == 0 ? uint8_t{0} : static_cast<uint8_t>(std::lrint(key[i] / scale));
  }
  std::memcpy(row.data() + key.size(), &scale, sizeof scale);
}

void decode_int8(std::span<const uint8_t> row, std::span<float> key) {
  assert(row.size() == key.size() + kScaleBytes);
  float scale = 0;
  std::memcpy(&scale, row.data() + key.size(), sizeof scale);
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = scale * static_cast<float>(static_cast<int8_t>(row[i]));
}

}  // namespace retro
