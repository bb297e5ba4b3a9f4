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
  Exclusion exclusion = Exclusion::kDocument;
};

/// train, validation, the evaluated split, its controls (counterpart_removed, leaked) and its
/// shifted grids.
std::vector<NeighbourSet> list_neighbour_sets(const RunConfig& config);
/// The role of eval.split.
Role evaluation_role(const RunConfig& config);

}  // namespace retro
