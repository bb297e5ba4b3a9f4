#include "token_parts.h"

#include <numbers>

#include <gtest/gtest.h>

namespace retro {
namespace {

// A document of two tokens in chunks of four: the third place of its chunk holds nothing but its
// end.
TEST(TokenParts, TheGainIsTheDifferenceOfTheColumnsBesideIt) {
  const std::vector<PartSum> reference = {{6.0, 3, 12}, {1.5, 1, 0}, {}};
  const std::vector<PartSum> system = {{5.0, 3, 12}, {0.25, 1, 0}, {}};
  const auto pairs = pair_losses(reference, system);
  EXPECT_EQ(pairs.size(), 2u);  // the third has no token of the part
  const double difference = (7.5 - 5.25) / (12 * std::numbers::ln2);
  EXPECT_NEAR(paired_bootstrap(pairs, {}).estimate, difference, 1e-12);
  EXPECT_EQ(total(reference).nats - total(system).nats, 2.25);
}

}  // namespace
}  // namespace retro
