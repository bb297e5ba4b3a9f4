// What small models need before they read their neighbours (METHOD section 4): drawn per sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "retro/core/config.h"
#include "retro/core/random.h"

namespace retro {

/// Leaky first phase: rank 0 of each chunk of a drawn sequence is the chunk's own text with its
/// true continuation.
struct SelfNeighbourConfig {
  double until = 0.0;  ///< fraction of the optimizer steps
  double rate = 0.0;   ///< share of sequences
  int64_t jitter = 0;  ///< re-cut at a uniform offset in [-jitter, jitter] tokens
  void visit_fields(FieldVisitor& visit);
};

/// After the leaky phase: all neighbours of a drawn sequence are replaced by random or missing
/// ones.
struct UselessNeighboursConfig {
  double rate = 0.0;          ///< share of sequences
  double random_share = 0.5;  ///< of those: random chunks; the rest get none
  void visit_fields(FieldVisitor& visit);
};

struct CurriculumConfig {
  std::vector<int64_t> neighbours = {2};  ///< k is drawn from this list
  SelfNeighbourConfig self_neighbour;
  UselessNeighboursConfig useless_neighbours;
};

enum class NeighbourKind { kTable, kSelf, kRandom, kNone };

/// What one sequence reads.
struct SequenceDraw {
  NeighbourKind kind = NeighbourKind::kTable;
  int64_t k = 0;
};

/// Draws k, then the kind. `is_leaky_phase`: before `self_neighbour.until`.
SequenceDraw draw_sequence(const CurriculumConfig& config, bool is_leaky_phase,
                           RandomStream& random);

}  // namespace retro
