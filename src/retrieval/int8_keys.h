// A key as signed bytes (two's complement) with one scale: value = scale * byte.
#pragma once

#include <cstdint>
#include <span>

namespace retro {

/// Bytes that follow the features of a row: its scale, float32, little-endian.
inline constexpr int64_t kScaleBytes = 4;

/// row: key.size() + kScaleBytes. The largest feature becomes 127 or -127; the error of any feature
/// is at most half the scale. Encoding what `decode_int8` gave changes no byte.
void encode_int8(std::span<const float> key, std::span<uint8_t> row);
/// Exact in float32.
void decode_int8(std::span<const uint8_t> row, std::span<float> key);

}  // namespace retro
