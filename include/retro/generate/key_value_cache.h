// What one sequence's cached decoding remembers.
#pragma once

#include "retro/generate/neighbour_fetcher.h"
#include "retro/model/retro_model.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retro {

/// Everything of one sequence in its current window of n positions. Buffers are allocated once.
struct KeyValueCache {
  KeyValueCache() = default;
  KeyValueCache(const ModelConfig& config, int64_t window_length);
  /// A copy with buffers of its own (beam search).
  KeyValueCache clone() const;

  int64_t length = 0;                         ///< positions filled
  std::vector<at::Tensor> key_NHA, value_NHA; ///< per decoder layer, self-attention
  at::Tensor chunk_hidden_MD;                 ///< H_u of the chunk being filled
  std::vector<at::Tensor> cross_key_THA, cross_value_THA;  ///< per retro layer: neighbours of the last complete chunk
  at::Tensor cross_real_T;                    ///< bool; undefined: no neighbours
  std::vector<int32_t> tokens;                ///< the window's ids, `length` of them
  std::vector<uint8_t> real;
  std::vector<std::vector<FetchedNeighbour>> neighbours;  ///< of each complete chunk of the window
};

}  // namespace retro
