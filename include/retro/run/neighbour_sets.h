// Which neighbour tables a run needs.
#pragma once

#include <string>
#include <vector>

#include "retro/retrieval/neighbour_filter.h"
#include "retro/run/run_config.h"

namespace retro {

/// A table: whose chunks, on which grid, with which exclusion.
struct NeighbourSet {
  std::string name;  ///< its folder below neighbours/
  Role role = kRoleTrain;
  int64_t shift = 0;
  int64_t max_tokens = 0;  ///< of each document; 0: all
  Exclusion exclusion = Exclusion::kDocument;
  int64_t num_neighbours = 0;      ///< stored per chunk
  double database_fraction = 1.0;  ///< of the documents that may be found
};

/// Training and validation chunks.
std::vector<NeighbourSet> training_neighbour_sets(const RunConfig& config);
/// The evaluated split, capped by eval.max_chunks_per_document: the usual neighbours, its controls
/// (counterpart_removed, leaked), its shifted grids, shares of the database.
std::vector<NeighbourSet> evaluation_neighbour_sets(const RunConfig& config);
/// The folder of its query keys, beside its own.
std::string keys_folder(const NeighbourSet& set);
/// The chunks of a set.
ChunkGrid grid_of(const NeighbourSet& set, const TokenCorpus& corpus, int64_t chunk_length);

}  // namespace retro
