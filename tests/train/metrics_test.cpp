#include "retro/train/metrics.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/core/json.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

class MetricsTest : public ::testing::Test {
 protected:
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> out;
    std::istringstream text(read_file(path()));
    for (std::string line; std::getline(text, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  }
  std::filesystem::path path() const { return directory_.path() / "metrics.jsonl"; }
  testing::TemporaryDirectory directory_;
};

TEST_F(MetricsTest, ALineIsOneObject) {
  const MetricsFile file(path(), 0);
  TrainMetrics train;
  train.step = 10;
  train.tokens = 1234;
  train.loss = 2.5;
  train.learning_rate = 1e-3;
  train.gradient_norm = 0.75;
  train.tokens_per_second = 100;
  train.gemm_share = 0.5;
  train.k = 1.5;
  train.seconds = 12;
  file.write(train);
  ValidationMetrics validation;
  validation.step = 10;
  validation.tokens = 1234;
  validation.off = {.nats = 6 * std::log(2.0), .num_targets = 3, .num_bytes = 4};
  validation.on = ValidationLoss{.nats = 3 * std::log(2.0), .num_targets = 3, .num_bytes = 4};
  file.write(validation);
  const auto found = lines();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], nlohmann::json::parse(R"({"kind":"train","step":10,"tokens":1234,"loss":2.5,
      "lr":0.001,"grad_norm":0.75,"tokens_per_second":100.0,"gemm_share":0.5,"k":1.5,
      "seconds":12.0})"));
  EXPECT_EQ(found[1].at("kind"), "validation");
  EXPECT_DOUBLE_EQ(found[1].at("off").at("bits_per_byte").get<double>(), 1.5);
  EXPECT_DOUBLE_EQ(found[1].at("on").at("bits_per_byte").get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(found[1].at("off").at("loss").get<double>(), 2 * std::log(2.0));
}

TEST_F(MetricsTest, ABaselineHasNoOnLoss) {
  const MetricsFile file(path(), 0);
  ValidationMetrics validation;
  validation.off = {.nats = 1, .num_targets = 1, .num_bytes = 1};
  file.write(validation);
  EXPECT_FALSE(lines()[0].contains("on"));
}

TEST_F(MetricsTest, AResumedRunDropsTheLinesOfLostWork) {
  {
    const MetricsFile file(path(), 0);
    for (const int64_t step : {2, 4, 6, 8}) {
      TrainMetrics metrics;
      metrics.step = step;
      file.write(metrics);
    }
  }
  append_line(path(), R"({"kind":"train","st)");  // cut off by a kill
  const MetricsFile resumed(path(), 5);
  TrainMetrics metrics;
  metrics.step = 6;
  metrics.loss = 1;
  resumed.write(metrics);
  std::vector<int64_t> steps;
  for (const auto& line : lines()) steps.push_back(line.at("step").get<int64_t>());
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(lines().back().at("loss"), 1.0);
}

// Killed between the line and the checkpoint that knows of it: the validation is made again.
TEST_F(MetricsTest, AValidationThatNoCheckpointKnowsIsDropped) {
  ValidationMetrics validation;
  validation.step = 5;
  validation.off = {.nats = 1, .num_targets = 1, .num_bytes = 1};
  TrainMetrics train;
  train.step = 5;
  const MetricsFile file(path(), 0);
  file.write(train);
  file.write(validation);
  const MetricsFile known(path(), 5, /*is_validated=*/true);
  EXPECT_EQ(lines().size(), 2U);
  const MetricsFile unknown(path(), 5, /*is_validated=*/false);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0].at("kind"), "train");
}

}  // namespace
}  // namespace retro
