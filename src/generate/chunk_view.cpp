#include "retro/generate/chunk_view.h"

#include "retro/text/common_run.h"

namespace retro {

ChunkView make_chunk_view(int64_t chunk, std::span<const int32_t> tokens,
                          std::vector<FetchedNeighbour> neighbours) {
  ChunkView view;
  view.chunk = chunk;
  view.tokens.assign(tokens.begin(), tokens.end());
  view.token_runs.assign(tokens.size(), 0);
  view.neighbours = std::move(neighbours);
  RunMatcher matcher(tokens);
  for (const FetchedNeighbour& neighbour : view.neighbours) {
    std::vector<int32_t>& runs = view.neighbour_runs.emplace_back(neighbour.value_R.size());
    matcher.mark_runs(neighbour.value_R, view.token_runs, runs);
  }
  return view;
}

}  // namespace retro
