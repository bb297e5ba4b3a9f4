#include "retro/data/curriculum.h"

#include "retro/core/error.h"

namespace retro {

void SelfNeighbourConfig::visit_fields(FieldVisitor& visit) {
  visit("until", until, "fraction of the optimizer steps after which no chunk sees itself");
  visit("rate", rate, "share of sequences whose chunks see their own text as first neighbour");
  visit("jitter", jitter, "that text is cut again at a uniform offset of at most so many tokens");
}

void UselessNeighboursConfig::visit_fields(FieldVisitor& visit) {
  visit("rate", rate, "share of sequences whose neighbours are all useless, after the leaky phase");
  visit("random_share", random_share, "of those: share with random chunks; the rest have none");
}

namespace {

NeighbourKind draw_kind(const CurriculumConfig& config, bool is_leaky_phase, RandomStream& random) {
  // Both numbers are always drawn, so that a key changes only what it names.
  const double chosen = random.uniform();
  const double which = random.uniform();
  if (is_leaky_phase) {
    return chosen < config.self_neighbour.rate ? NeighbourKind::kSelf : NeighbourKind::kTable;
  }
  if (chosen >= config.useless_neighbours.rate) return NeighbourKind::kTable;
  return which < config.useless_neighbours.random_share ? NeighbourKind::kRandom
                                                        : NeighbourKind::kNone;
}

}  // namespace

SequenceDraw draw_sequence(const CurriculumConfig& config, bool is_leaky_phase,
                           RandomStream& random) {
  RETRO_CHECK(!config.neighbours.empty(), "train.neighbours is empty: name at least one k");
  const uint64_t choice = random.below(config.neighbours.size());
  SequenceDraw draw;
  draw.k = config.neighbours[static_cast<size_t>(choice)];
  draw.kind = draw_kind(config, is_leaky_phase, random);
  return draw;
}

}  // namespace retro
