// One sequence's part of a cached decoding step.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/generate/key_value_cache.h"
#include "retro/model/decoder_block.h"
#include "retro/model/retro_model.h"

namespace retro {

/// Of every product in decoding, where rows are too few for bfloat16 to pay.
inline constexpr Precision kDecodingPrecision = Precision::kFloat32;

/// Rows [offset, offset + count) of the step's flat batch stand at positions [start, start + count)
/// of the window.
struct DecodeSegment {
  KeyValueCache* cache = nullptr;
  int64_t offset = 0;
  int64_t count = 0;
  int64_t start = 0;
  bool completes_chunk = false;
  std::vector<FetchedNeighbour> neighbours;  ///< of the chunk that becomes complete
  CrossCache next_cross;  ///< the same, encoded; replaces cache->cross when the step ends

  /// This segment's rows of a flat [T, ...] tensor.
  at::Tensor rows(const at::Tensor& flat) const { return flat.narrow(0, offset, count); }
};

/// Positions of self-attention in this step.
struct SelfGeometry {
  at::Tensor relative_XHA;  ///< distances 0..n-1; undefined: not relative
  RotaryAngles angles;      ///< of the step's T rows; undefined: not rotary
};

/// x + self-attention over the segment's cached keys, to which its own are added.
at::Tensor add_cached_self_attention(const DecoderBlockImpl& block, size_t layer,
                                     const at::Tensor& stream_TD, const SelfGeometry& geometry,
                                     std::vector<DecodeSegment>& segments);

/// Where chunked cross-attention's positions lie.
struct CrossGeometry {
  int64_t chunk_length = 0;
  at::Tensor relative_XHA;  ///< undefined: no position term
  RotaryAngles angles;      ///< of the frame's 2m - 1 query positions; undefined: not rotary
};

/// x + cross-attention: rows before the chunk's last read the neighbours of the chunk before, the
/// last one those of its own chunk. `retro_layer` counts the layers of P. Rows without neighbours
/// get exactly 0.
at::Tensor add_cached_cross_attention(const DecoderBlockImpl& block, size_t retro_layer,
                                      const at::Tensor& stream_TD, const CrossGeometry& geometry,
                                      const std::vector<DecodeSegment>& segments);

/// Keys and values that every retro layer's cross-attention reads from these neighbours, encoded
/// with the H of the chunk that retrieved them. Empty for no neighbours.
CrossCache encode_neighbours(const RetroModelImpl& model,
                             const std::vector<FetchedNeighbour>& neighbours,
                             const at::Tensor& chunk_hidden_MD);

}  // namespace retro
