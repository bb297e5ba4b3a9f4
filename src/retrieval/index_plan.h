// Which index a database of a size gets.
#pragma once

#include <cstdint>
#include <string>

#include "retro/retrieval/neighbour_index.h"

namespace retro {

struct IndexPlan {
  std::string type;    ///< exact | ivf_flat | ivf_pq
  std::string reason;  ///< one line, begins with the type
  int64_t num_lists = 0;
  int64_t training_points = 0;
};

/// Never more lists than points, never more than 256 training points a list; what cannot be trained
/// becomes exact.
IndexPlan plan_index(const IndexConfig& config, int64_t num_indexed);

}  // namespace retro
