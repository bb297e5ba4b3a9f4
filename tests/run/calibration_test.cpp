#include "retro/run/calibration.h"

#include <cmath>

#include <gtest/gtest.h>

#include "retro/run/model_setup.h"

#include "run/small_run.h"

namespace retro {
namespace {

/// Two sources of one document of 3,600 bytes each, about 1,000 tokens.
class Calibration : public ::testing::Test {
 protected:
  Calibration() {
    for (SourceConfig& source : config_.corpus.sources) {
      source.path = small_.path(source.name + ".txt").string();
      testing::spill(source.path, std::string(3600, 'a'));
    }
    SourceConfig& evaluated = config_.corpus.sources.front();
    evaluated.test_share = 0.5;
    evaluated.validation_share = 0.25;
    config_.eval.max_chunks_per_document = 0;
    config_.eval.neighbours = {1};
    config_.eval.controls = {"random"};
    config_.eval.shifts = {0, 4};
    rates_.chunks_per_second = 2;
    rates_.retro_tokens_per_second = 4;
    rates_.baseline_tokens_per_second = 8;
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
  MachineRates rates_;
};

TEST_F(Calibration, TheEstimateByHand) {
  const RunEstimate estimate = estimate_run(config_, rates_);
  // 2,000 tokens of text, and 500 evaluated ones on three grids, in chunks of 16.
  EXPECT_NEAR(estimate.embed_seconds, (2000 + 3 * 500) / 16.0 / 2, 1e-9);
  // Two steps of two sequences of 64 tokens, as fast as the slower one.
  EXPECT_NEAR(estimate.train_seconds, 2 * 2 * 64 / 4.0, 1e-9);
  // Off, on, random and one shift; a third of a training step's time.
  EXPECT_NEAR(estimate.eval_seconds, 4 * 500 / 4.0 / 3, 1e-9);
}

TEST_F(Calibration, EpochsAreOfTheTrainingText) {
  config_.train.steps = 0;
  config_.train.epochs = 3;
  EXPECT_NEAR(estimate_run(config_, rates_).train_seconds, 3 * 250 / 4.0, 1e-9);
}

TEST_F(Calibration, ADatabaseAloneIsOnlyEmbedded) {
  config_.corpus.sources.erase(config_.corpus.sources.begin());
  const MachineRates rates = measure_rates(config_);
  EXPECT_GT(rates.chunks_per_second, 0);
  EXPECT_EQ(rates.retro_tokens_per_second, 0);
  const RunEstimate estimate = estimate_run(config_, rates);
  EXPECT_GT(estimate.embed_seconds, 0);
  EXPECT_EQ(estimate.total(), estimate.embed_seconds);
  const nlohmann::json json = to_json(rates, estimate);
  EXPECT_EQ(json.at("embed_seconds").get<double>(), json.at("total_seconds").get<double>());
}

// What it is compared with is its base.
TEST_F(Calibration, AFittedModelIsTrainedAlone) {
  config_.fit.base = "a base";
  EXPECT_FALSE(trains_baseline(config_));
  rates_.baseline_tokens_per_second = 0;
  EXPECT_NEAR(estimate_run(config_, rates_).train_seconds, 2 * 2 * 64 / 4.0, 1e-9);
}

TEST_F(Calibration, BothModelsAreMeasured) {
  const MachineRates rates = measure_rates(config_);
  EXPECT_GT(rates.retro_tokens_per_second, 0);
  EXPECT_GT(rates.baseline_tokens_per_second, 0);
  EXPECT_TRUE(std::isfinite(estimate_run(config_, rates).total()));
}

}  // namespace
}  // namespace retro
