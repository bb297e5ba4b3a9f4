#include "retro/core/error.h"

#include <string>

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

TEST(RetroCheck, FormatsItsMessage) {
  const int found = 3;
  EXPECT_EQ(testing::error_of(
                [&] { RETRO_CHECK(found == 4, "{}: expected {}, found {}", "x", 4, found); }),
            "x: expected 4, found 3");
}

TEST(RetroCheck, PassesSilentlyAndLeavesTheMessageUnmade) {
  int num_made = 0;
  const auto message_part = [&num_made] { return ++num_made; };
  RETRO_CHECK(true, "{}", message_part());
  EXPECT_EQ(num_made, 0);
}

// The macro must be one statement: an unbraced if keeps its else.
TEST(RetroCheck, IsOneStatement) {
  bool took_else = false;
  if (took_else)
    RETRO_CHECK(false, "not reached");
  else
    took_else = true;
  EXPECT_TRUE(took_else);
}

}  // namespace
}  // namespace retro
