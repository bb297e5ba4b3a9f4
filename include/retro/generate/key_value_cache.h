// What one sequence's cached decoding remembers.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/generate/neighbour_fetcher.h"
#include "retro/model/retro_model.h"

namespace retro {

/// Keys and values of one chunk's encoded neighbours, per retro layer; T = K * R. Empty: no
/// neighbours.
struct CrossCache {
  std::vector<at::Tensor> key_THA, value_THA;
  at::Tensor is_real_T;  ///< bool
  bool is_empty() const { return key_THA.empty(); }
};

/// Everything of one sequence in its current window of n positions. Buffers are allocated once.
struct KeyValueCache {
  KeyValueCache() = default;
  KeyValueCache(const ModelConfig& config, int64_t window_length, at::Device device = at::kCPU);
  /// A copy with buffers of its own (beam search).
  KeyValueCache clone() const;
  /// Forgets every position; the buffers stay.
  void clear();

  int64_t length = 0;                          ///< positions filled
  int64_t dropped_chunks = 0;                  ///< chunks of the stream before the window
  std::vector<at::Tensor> key_NGA, value_NGA;  ///< per decoder layer, self-attention
  at::Tensor is_real_N;                        ///< bool: positions that are keys
  at::Tensor chunk_hidden_MD;                  ///< H_u of the chunk being filled
  CrossCache cross;                            ///< neighbours of the last complete chunk
  std::vector<int32_t> tokens;                 ///< the window's ids, `length` of them
  std::vector<uint8_t> is_padding;             ///< likewise: masked positions of a lead chunk
  std::vector<std::vector<FetchedNeighbour>> neighbours;  ///< of each complete chunk of the window
};

}  // namespace retro
