// A time budget: the share is chosen once, and nothing cuts a run a second time.
#include "retro/run/time_budget.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/text/token_corpus.h"

#include "run/small_run.h"

namespace retro {
namespace {

using testing::slurp;
using testing::spill;

/// 30 documents a source, 200 steps, 62.9 minutes; `measured_` counts the estimates, of 100
/// minutes.
class TimeBudget : public ::testing::Test {
 protected:
  TimeBudget() {
    config_.time_budget_minutes = 62.9;
    config_.train.steps = 200;
    config_.train.warmup_steps = 20;
    std::filesystem::create_directories(config_.directory);
  }

  RunShare share(const RunConfig& config) {
    return share_within_budget(config, [this](const RunConfig&) {
      ++measured_;
      RunEstimate estimate;
      estimate.train_seconds = 60 * minutes_;
      return estimate;
    });
  }
  /// True if the share of a run with this change is measured, not remembered.
  bool is_measured(const std::function<void(RunConfig&)>& change) {
    RunConfig changed = config_;
    change(changed);
    const int before = measured_;
    (void)share(changed);
    return measured_ > before;
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
  double minutes_ = 100;
  int measured_ = 0;
};

TEST_F(TimeBudget, WithoutOneARunIsWholeAndNothingIsMeasured) {
  config_.time_budget_minutes = 0;
  const RunShare whole = share(config_);
  EXPECT_EQ(whole.percent, 100);
  EXPECT_EQ(measured_, 0);
  EXPECT_EQ(to_yaml(cut_to_share(config_, whole)), to_yaml(config_));
  remember_share(config_, whole);
  EXPECT_FALSE(std::filesystem::exists(RunPaths(config_).directory() / "budget.json"));
}

TEST_F(TimeBudget, TheShareIsInWholePercentOfDocumentsAndSteps) {
  const RunShare part = share(config_);
  EXPECT_EQ(part.percent, 62);
  const RunConfig cut = cut_to_share(config_, part);
  EXPECT_EQ(cut.train.steps, 124);
  EXPECT_EQ(cut.train.warmup_steps, 20);
  for (const SourceConfig& source : cut.corpus.sources) EXPECT_EQ(source.max_documents, 19);
  config_.corpus.sources[1].max_documents = 10;
  EXPECT_EQ(cut_to_share(config_, part).corpus.sources[1].max_documents, 6);
}

TEST_F(TimeBudget, ACutRunIsNotCutAgain) {
  const RunConfig cut = cut_to_share(config_, share(config_));
  EXPECT_EQ(cut.time_budget_minutes, 0);
  EXPECT_EQ(to_yaml(cut_to_share(cut, share(cut))), to_yaml(cut));
  EXPECT_EQ(measured_, 1);
}

TEST_F(TimeBudget, AFastMachineTakesAll) {
  minutes_ = 40;
  const RunConfig all = cut_to_share(config_, share(config_));
  EXPECT_EQ(all.train.steps, 200);
  EXPECT_EQ(all.corpus.sources[0].max_documents, 0);
  EXPECT_EQ(all.time_budget_minutes, 0);
}

TEST_F(TimeBudget, AVerySlowMachineTakesSomething) {
  minutes_ = 1e6;
  const RunConfig cut = cut_to_share(config_, share(config_));
  EXPECT_EQ(cut.train.steps, 2);
  EXPECT_NO_THROW(cut.train.check(cut.model.chunk_length));
  EXPECT_EQ(cut.corpus.sources[0].max_documents, 1);
}

TEST_F(TimeBudget, EpochsAreCutByTheirTextAlone) {
  config_.train.steps = 0;
  config_.train.epochs = 3;
  const RunConfig cut = cut_to_share(config_, share(config_));
  EXPECT_EQ(cut.train.steps, 0);
  EXPECT_EQ(cut.train.epochs, 3);
  EXPECT_EQ(cut.corpus.sources[0].max_documents, 19);
}

TEST_F(TimeBudget, AShareIsRememberedForWhatItWasMeasuredFor) {
  remember_share(config_, share(config_));
  minutes_ = 80;
  EXPECT_EQ(share(config_).percent, 62);
  EXPECT_DOUBLE_EQ(share(config_).estimated_minutes, 100);
  EXPECT_EQ(measured_, 1);
  EXPECT_TRUE(is_measured([](RunConfig& config) { config.time_budget_minutes = 30; }));
  EXPECT_TRUE(is_measured([](RunConfig& config) { config.train.steps = 300; }));
  EXPECT_TRUE(is_measured([](RunConfig& config) { config.model.width = 32; }));
  EXPECT_TRUE(is_measured([](RunConfig& config) { config.corpus.sources[0].max_documents = 9; }));
  spill(small_.path("database.jsonl"), slurp(small_.path("database.jsonl")) +
                                           json_line({{"id", "new"}, {"text", "words"}}) + "\n");
  EXPECT_TRUE(is_measured([](RunConfig&) {})) << "the text has grown";
}

// Measured again it would be another one, and everything would be made again.
TEST_F(TimeBudget, WhatLeavesTheTrainingsAsTheyAreIsNotMeasuredAnew) {
  remember_share(config_, share(config_));
  for (const auto& change : std::vector<std::function<void(RunConfig&)>>{
           [](RunConfig& config) { config.sample.temperature = 0; },
           [](RunConfig& config) { config.knn.enabled = true; },
           [](RunConfig& config) { config.eval.shifts = {0}; },
           [](RunConfig& config) { config.train.log_every = 3; },
           [](RunConfig& config) { config.threads = 7; },
           [&](RunConfig& config) {
             std::filesystem::copy_file(small_.path("trained.jsonl"), small_.path("moved.jsonl"));
             config.corpus.sources[0].path = small_.path("moved.jsonl").string();
           }})
    EXPECT_FALSE(is_measured(change));
}

TEST_F(TimeBudget, StagesAskedForByNameTakeTheRememberedShare) {
  remember_share(config_, share(config_));
  ASSERT_EQ(execute_stages(config_, {"tokenizer", "corpus"}), 0);
  EXPECT_EQ(TokenCorpus(RunPaths(config_).corpus()).num_documents(), 2 * 19);
  const std::string saved = slurp(RunPaths(config_).config());
  EXPECT_THAT(saved, ::testing::HasSubstr("steps: 124\n"));
  EXPECT_EQ(execute_stages(load_run_config(config_.directory, {}), {"corpus"}), 0);
  EXPECT_EQ(slurp(RunPaths(config_).config()), saved) << "by the saved configuration";
  EXPECT_EQ(execute_stages(config_, {"corpus"}), 0);
  EXPECT_EQ(slurp(RunPaths(config_).config()), saved) << "by the one with the budget";
}

}  // namespace
}  // namespace retro
