// What launchers of attention kernels check and choose.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/launch.cuh"
#include "kernels/relative_attention.h"

namespace retro::kernels {

/// Calls function(std::integral_constant<int, width>) for a head width that kernels exist for.
template <typename Function>
void for_width(int64_t width, const Function& function) {
  switch (width) {
    case 32:
      return function(std::integral_constant<int, 32>());
    case 64:
      return function(std::integral_constant<int, 64>());
    case 96:
      return function(std::integral_constant<int, 96>());
    case 128:
      return function(std::integral_constant<int, 128>());
    default:
      throw std::invalid_argument("attention: head width " + std::to_string(width) +
                                  ": the CUDA kernels have 32, 64, 96 and 128");
  }
}

/// Rows are copied 16 bytes at a time.
template <typename T>
void check_alignment(const AttentionView<T>& view, const char* name) {
  constexpr int64_t kVector = 16 / static_cast<int64_t>(sizeof(T));
  const bool is_aligned = reinterpret_cast<uintptr_t>(view.data) % 16 == 0 &&
                          view.batch_stride % kVector == 0 && view.chunk_stride % kVector == 0 &&
                          view.row_stride % kVector == 0 && view.head_stride % kVector == 0;
  if (!is_aligned) {
    throw std::invalid_argument(std::string("attention: rows of ") + name +
                                " must start at multiples of 16 bytes");
  }
}

template <typename T>
void check_attention(const AttentionParams<T>& params) {
  check_alignment(params.query, "query");
  check_alignment(params.key, "key");
  check_alignment(params.value, "value");
  check_alignment(params.relative, "relative");
  check_alignment(params.out, "out");
  if (params.key_heads <= 0 || params.heads % params.key_heads != 0) {
    throw std::invalid_argument("attention: key heads must divide heads");
  }
}

/// The least that a device has for a block (compute capability 8.6, 8.9 and 12.0).
inline constexpr size_t kLeastSharedBytes = size_t{99} << 10;

/// `pass`: "forward" or "backward".
template <typename T>
void check_shared_bytes(const char* pass, int64_t width, size_t needed) {
  const size_t largest = largest_shared_bytes();
  if (needed <= largest) return;
  throw std::invalid_argument(
      std::string("attention: the ") + pass + " of head width " + std::to_string(width) + " in " +
      (sizeof(T) == 2 ? "bfloat16" : "float32") + " needs " + std::to_string(needed) +
      " bytes of shared memory, a block of this device has at most " + std::to_string(largest) +
      ": take precision bfloat16, a narrower head or device cpu");
}

template <typename T>
int64_t attention_period(const AttentionParams<T>& params) {
  return params.key_period > 0 ? params.key_period : params.keys;
}

inline int64_t tiles_of(int64_t count, int64_t tile) { return (count + tile - 1) / tile; }

}  // namespace retro::kernels
