#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"

namespace retro {
namespace {

const std::vector<std::string> kNames{"train.steps", "train.seed", "database.index", "k"};

TEST(NearestName, FindsUsualTypingErrors) {
  EXPECT_EQ(nearest_name("train.steps", kNames), "train.steps");
  EXPECT_EQ(nearest_name("train.step", kNames), "train.steps") << "a letter missing";
  EXPECT_EQ(nearest_name("train.stepss", kNames), "train.steps") << "a letter too many";
  EXPECT_EQ(nearest_name("train.stebs", kNames), "train.steps") << "a wrong letter";
  EXPECT_EQ(nearest_name("trian.steps", kNames), "train.steps") << "two swapped";
  EXPECT_EQ(nearest_name("datbase.indx", kNames), "database.index");
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("colour", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("q", kNames), "") << "one letter for another is no resemblance";
  EXPECT_EQ(nearest_name("train.steps", {}), "");
}

// A swap costs 1: "ab" -> "ba" is nearer than two replacements.
TEST(NearestName, SwapIsOneError) {
  EXPECT_EQ(nearest_name("abcd", {"bacx", "bacd"}), "bacd");
  EXPECT_EQ(nearest_name("abc", {"bac"}), "bac") << "within the one error that three letters allow";
}

TEST(NearestName, FirstOfEquallyNear) {
  EXPECT_EQ(nearest_name("name1", {"name2", "name3"}), "name2");
}

}  // namespace
}  // namespace retro
