#include "retro/eval/knn_result.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KnnResult some_result() {
  KnnResult result;
  result.entries = 123456;
  result.neighbours = 64;
  result.index = "flat";
  result.systems = {{"baseline", "none", {}, 1.75, 1.8, {0, 0, 0}},
                    {"baseline + kNN-LM", "exact", {0.25, 0.5}, 1.5, 1.625, {0.175, 0.15, 0.2}}};
  return result;
}

TEST(KnnResult, EveryFigureIsInTheTableAndInTheFile) {
  const std::string table = format_knn(some_result());
  EXPECT_THAT(table, HasSubstr("64 neighbours of 123,456 states (flat)"));
  EXPECT_THAT(table, HasSubstr("0.250   0.50000      1.5000      1.6250  +0.1750 ±0.0250"));
  EXPECT_THAT(table, Not(HasSubstr("note:")));
  const auto json = knn_json(some_result());
  EXPECT_EQ(json["split"], "test");
  EXPECT_EQ(json["systems"][1]["lambda"], 0.25);
  EXPECT_EQ(json["systems"][1]["gain"]["low"], 0.15);
}

TEST(KnnResult, FiguresOfTheTextTunedOnAreCalledThat) {
  KnnResult result = some_result();
  result.split = "validation";
  EXPECT_THAT(format_knn(result), HasSubstr("note: lambda and a were tuned on the very text"));
}

TEST(KnnResult, WithoutTextToTuneOnNothingIsMixedIn) {
  KnnResult result = some_result();
  for (KnnSystem& system : result.systems) system.validation_bits_per_byte = NAN;
  EXPECT_THAT(format_knn(result), HasSubstr("note: there is no validation text"));
  EXPECT_THAT(format_knn(result), Not(HasSubstr("nan")));
  EXPECT_TRUE(
      parse_json(knn_json(result).dump(), "x")["systems"][0]["validation_bits_per_byte"].is_null());
}

}  // namespace
}  // namespace retro
