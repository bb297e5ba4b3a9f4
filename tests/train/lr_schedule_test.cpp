#include "retro/train/lr_schedule.h"

#include <gtest/gtest.h>

namespace retro {
namespace {

const LearningRateSchedule kSchedule = {.peak = 1e-3, .warmup_steps = 100, .total_steps = 300};

TEST(LearningRateSchedule, RisesLinearlyFromOneTenMillionth) {
  EXPECT_DOUBLE_EQ(kSchedule.at(0), 1e-7);
  EXPECT_NEAR(kSchedule.at(50), (1e-7 + 1e-3) / 2, 1e-15);
  EXPECT_NEAR(kSchedule.at(25), 1e-7 + 0.25 * (1e-3 - 1e-7), 1e-15);
  EXPECT_DOUBLE_EQ(kSchedule.at(100), 1e-3);
}

TEST(LearningRateSchedule, FallsAlongACosineToATenth) {
  // cos(pi/4) = sqrt(1/2): 0.1 + 0.9 * (1 + 0.70710678) / 2 = 0.86819805
  EXPECT_NEAR(kSchedule.at(150), 0.86819805e-3, 1e-10);
  EXPECT_NEAR(kSchedule.at(200), 0.55e-3, 1e-15);
  EXPECT_NEAR(kSchedule.at(300), 0.1e-3, 1e-15);
  EXPECT_NEAR(kSchedule.at(400), 0.1e-3, 1e-15);
}

TEST(LearningRateSchedule, WithoutWarmUpBeginsAtThePeak) {
  const LearningRateSchedule schedule = {
      .peak = 2.0, .warmup_steps = 0, .total_steps = 2, .final_ratio = 0.5};
  EXPECT_DOUBLE_EQ(schedule.at(0), 2.0);
  EXPECT_NEAR(schedule.at(1), 1.5, 1e-12);
  EXPECT_NEAR(schedule.at(2), 1.0, 1e-12);
}

}  // namespace
}  // namespace retro
