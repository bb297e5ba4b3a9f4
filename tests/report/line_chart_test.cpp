#include "retro/report/line_chart.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retro {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AxisTicks, AreRoundNumbersThatCoverTheRange) {
  EXPECT_THAT(axis_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(axis_ticks(1.27, 1.31, 4),
              ElementsAre(DoubleNear(1.27, 1e-12), DoubleNear(1.28, 1e-12), DoubleNear(1.29, 1e-12),
                          DoubleNear(1.30, 1e-12), DoubleNear(1.31, 1e-12)));
}

TEST(AxisTicks, AnEmptyRangeHasOneTick) { EXPECT_THAT(axis_ticks(3, 3, 5), ElementsAre(3)); }

LineChart two_points() {
  LineChart chart;
  chart.title = "a<b";
  chart.series = {{"on", "on", {{0, 1, 0.5, 1.5}, {1, 2, 1.5, 2.5}}}};
  return chart;
}

TEST(LineChart, EscapesTitlesAndDrawsLineAndBand) {
  const std::string svg = to_svg(two_points());
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
  EXPECT_THAT(svg, HasSubstr("<polyline class=\"line on\""));
  EXPECT_THAT(svg, HasSubstr("<polygon class=\"band on\""));
}

TEST(LineChart, EscapesStyles) {
  LineChart chart = two_points();
  chart.series[0].style = "on\" onload=\"x";
  EXPECT_THAT(to_svg(chart), Not(HasSubstr("on\" onload")));
  EXPECT_THAT(to_svg(chart), HasSubstr("class=\"dot on&quot; onload=&quot;x\""));
}

TEST(LineChart, ScreenReadersHearTheEndsOfEachLine) {
  EXPECT_THAT(to_svg(two_points()),
              HasSubstr("aria-label=\"a&lt;b. on: 1 at the left, 2 at the right.\""));
}

TEST(LineChart, HigherValuesStandHigher) {
  const std::string svg = to_svg(two_points());
  const size_t points = svg.find("<polyline");
  const size_t first = svg.find("points=\"", points) + 8;
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  ASSERT_EQ(std::sscanf(svg.c_str() + first, "%lf,%lf %lf,%lf", &x0, &y0, &x1, &y1), 4);
  EXPECT_LT(x0, x1);
  EXPECT_GT(y0, y1);  // pixels count downwards
}

TEST(LineChart, PointsThatAreNotNumbersAreLeftOut) {
  LineChart chart = two_points();
  chart.series[0].points.push_back({2, std::numeric_limits<double>::quiet_NaN(), {}, {}});
  EXPECT_THAT(to_svg(chart), Not(HasSubstr("nan")));
}

TEST(LineChart, NothingToDrawIsSaid) { EXPECT_THAT(to_svg(LineChart{}), HasSubstr("no data")); }

}  // namespace
}  // namespace retro
