#include "retro/report/interval_bars.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

IntervalBar bar(double value, double low, double high) {
  return {"a<b", "on", "1.5", "+0.5", value, low, high, true};
}

/// The number after `key` at its `nth` place in `html`.
double number_after(const std::string& html, const std::string& key, int nth = 0) {
  size_t at = 0;
  for (int i = 0; i <= nth; ++i) at = html.find(key, at) + key.size();
  return std::stod(html.substr(at));
}

TEST(IntervalBars, PositiveBarsStandRightOfZeroAndNegativeOnesLeft) {
  // The scale spans [-1, 1] and a margin of 8 % of 2 on both sides: 300 pixels are 2.32.
  const std::string html = interval_bars_html({bar(1, 1, 1), bar(-1, -1, -1)});
  EXPECT_NEAR(number_after(html, " x=\"", 0), 150, 0.1);
  EXPECT_NEAR(number_after(html, " width=\"", 0), 300 / 2.32, 0.1);
  EXPECT_NEAR(number_after(html, " x=\"", 1), 150 - 300 / 2.32, 0.1);
  EXPECT_THAT(html, Not(HasSubstr("whisker")));  // no interval
}

TEST(IntervalBars, AnIntervalHasAWhisker) {
  EXPECT_THAT(interval_bars_html({bar(1, 0.5, 1.5)}), HasSubstr("class=whisker"));
}

TEST(IntervalBars, ABarBeyondTheScaleIsCutAndMarked) {
  IntervalBar far = bar(100, 99, 101);
  far.sets_scale = false;
  const std::string html = interval_bars_html({bar(1, 1, 1), far});
  EXPECT_THAT(html, HasSubstr("class=cut"));
  EXPECT_LE(number_after(html, " x=\"", 1) + number_after(html, " width=\"", 1), 300.1);
  EXPECT_THAT(interval_bars_html({bar(1, 1, 1)}), Not(HasSubstr("class=cut")));
}

TEST(IntervalBars, EscapesAndLeavesOutWhatIsNoNumber) {
  IntervalBar named = bar(1, 1, 1);
  named.style = "on\" onload=\"x";
  EXPECT_THAT(interval_bars_html({named}), HasSubstr("class=\"bar on&quot; onload=&quot;x\""));
  const std::string html = interval_bars_html({bar(NAN, NAN, NAN)});
  EXPECT_THAT(html, HasSubstr("a&lt;b"));
  EXPECT_THAT(html, Not(HasSubstr("<rect")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace retro
