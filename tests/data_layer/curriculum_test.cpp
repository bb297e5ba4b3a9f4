#include "retro/data/curriculum.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

constexpr int64_t kDraws = 20'000;

/// Share of `kDraws` draws for which `is_counted` holds.
template <class Predicate>
double share(const CurriculumConfig& config, bool is_leaky_phase, Predicate is_counted) {
  int64_t count = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    RandomStream random(7, "test", static_cast<uint64_t>(i));
    count += is_counted(draw_sequence(config, is_leaky_phase, random)) ? 1 : 0;
  }
  return static_cast<double>(count) / kDraws;
}

/// Five standard deviations of a binomial share.
double bound(double probability) {
  return 5.0 * std::sqrt(probability * (1.0 - probability) / kDraws);
}

TEST(Curriculum, DefaultIsTheTableWithTheOneK) {
  EXPECT_EQ(
      share({}, false,
            [](const SequenceDraw& d) { return d.kind == NeighbourKind::kTable && d.k == 2; }),
      1.0);
}

TEST(Curriculum, EveryKOfTheListIsDrawnEquallyOften) {
  CurriculumConfig config;
  config.neighbours = {1, 2, 4};
  for (const int64_t k : config.neighbours) {
    const double found = share(config, false, [k](const SequenceDraw& d) { return d.k == k; });
    EXPECT_NEAR(found, 1.0 / 3.0, bound(1.0 / 3.0)) << k;
  }
}

TEST(Curriculum, LeakyPhaseShowsSequencesThemselvesAtTheRate) {
  CurriculumConfig config;
  config.self_neighbour = {.until = 0.3, .rate = 0.4, .jitter = 3};
  config.useless_neighbours = {.rate = 0.5, .random_share = 0.5};
  const auto of_kind = [&](bool is_leaky, NeighbourKind kind) {
    return share(config, is_leaky, [kind](const SequenceDraw& d) { return d.kind == kind; });
  };
  EXPECT_NEAR(of_kind(true, NeighbourKind::kSelf), 0.4, bound(0.4));
  EXPECT_EQ(of_kind(true, NeighbourKind::kRandom), 0.0);
  EXPECT_EQ(of_kind(true, NeighbourKind::kNone), 0.0);
  EXPECT_EQ(of_kind(false, NeighbourKind::kSelf), 0.0);
}

TEST(Curriculum, UselessNeighboursAreRandomOrMissingAtTheirShares) {
  CurriculumConfig config;
  config.useless_neighbours = {.rate = 0.25, .random_share = 0.6};
  const auto of_kind = [&](NeighbourKind kind) {
    return share(config, false, [kind](const SequenceDraw& d) { return d.kind == kind; });
  };
  EXPECT_NEAR(of_kind(NeighbourKind::kRandom), 0.15, bound(0.15));
  EXPECT_NEAR(of_kind(NeighbourKind::kNone), 0.10, bound(0.10));
  EXPECT_NEAR(of_kind(NeighbourKind::kTable), 0.75, bound(0.75));
}

TEST(Curriculum, KAndKindAreIndependent) {
  CurriculumConfig config;
  config.neighbours = {1, 2};
  config.useless_neighbours = {.rate = 0.5, .random_share = 1.0};
  const double both = share(config, false, [](const SequenceDraw& d) {
    return d.k == 1 && d.kind == NeighbourKind::kRandom;
  });
  EXPECT_NEAR(both, 0.25, bound(0.25));
}

TEST(Curriculum, RefusesAnEmptyList) {
  CurriculumConfig config;
  config.neighbours = {};
  RandomStream random(0, "test");
  EXPECT_THROW(draw_sequence(config, false, random), Error);
}

}  // namespace
}  // namespace retro
