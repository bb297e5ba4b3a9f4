// The two 16-bit floating-point formats as bits: float16 (IEEE 754 binary16) and bfloat16.
#pragma once

#include <bit>
#include <cstdint>

namespace retro {

/// Exact.
inline float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Exact.
inline float float_from_float16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  // Infinities and NaNs keep their payload; the exponent becomes float's largest.
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  // Read as a float of exponent bias 127 the number is too small by 2^112; subnormals come out
  // right as well.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

/// Rounds to nearest, ties to even; too large becomes infinity, NaN stays NaN.
inline uint16_t float16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Below 2^-14 the spacing is 2^-24: adding 0.5, whose spacing is 2^-24 too, makes the hardware
    // round.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

}  // namespace retro
