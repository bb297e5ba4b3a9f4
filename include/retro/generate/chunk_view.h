// A chunk beside what it could read, with the runs that colour both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retro/generate/neighbour_fetcher.h"

namespace retro {

/// A chunk of the document (counted from its first token) with what it could read: the neighbours
/// of the chunk before. Runs colour it as [R] does: each token by the longest run ending at it that
/// also stands on the other side.
struct ChunkView {
  int64_t chunk = 0;
  int64_t num_prompt_tokens = 0;  ///< the first tokens of this chunk that were given
  std::vector<int32_t> tokens;
  std::vector<int32_t> token_runs;
  std::vector<FetchedNeighbour> neighbours;
  std::vector<std::vector<int32_t>> neighbour_runs;  ///< R per neighbour
};

/// Computes the runs.
ChunkView make_chunk_view(int64_t chunk, std::span<const int32_t> tokens,
                          std::vector<FetchedNeighbour> neighbours);

}  // namespace retro
