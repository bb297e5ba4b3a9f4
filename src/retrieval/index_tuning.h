// Which lists to read and how many candidates to re-rank, by measurement.
#pragma once

#include <cstddef>
#include <vector>

#include "retro/retrieval/neighbour_index.h"

#include "index_recall.h"

namespace retro {

struct Tuning {
  std::vector<OperatingPoint> points;  ///< all that were measured, by (num_probes, rerank_factor)
  size_t chosen = 0;
};

/// The fastest point whose recall on the sample reaches config.target_recall and a quarter of what
/// is missing to 1 besides, since other queries reach a little less; where none does, the one of
/// the highest recall, with a warning. Parameters that `config` gives are kept.
Tuning tune_index(const NeighbourIndex& index, const RecallSample& sample,
                  const IndexConfig& config);

}  // namespace retro
