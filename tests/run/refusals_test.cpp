// What is refused changes nothing, and what fails loses no model.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_lock.h"
#include "retro/train/checkpoint.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

const std::vector<std::string> kText{"tokenizer", "corpus"};

class Refusals : public ::testing::Test {
 protected:
  /// The error of the command, which must leave the saved configuration as it is.
  std::string refusal(const std::vector<std::string>& stages) const {
    const std::string before = testing::slurp(run_ / "config.yaml");
    const std::string error = error_of([&] { execute_stages(config_, stages); });
    EXPECT_EQ(testing::slurp(run_ / "config.yaml"), before);
    return error;
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
  fs::path run_ = config_.directory;
};

TEST_F(Refusals, AStageThatTheRunDoesNotHaveSaysWhy) {
  EXPECT_THAT(refusal({"knn"}), HasSubstr("no stage `knn`: knn.enabled is false"));
  EXPECT_THAT(refusal({"qa"}), HasSubstr("no stage `qa`: qa.questions names no file"));
  EXPECT_THAT(refusal({"fit"}), HasSubstr("no stage `fit`: fit.base is empty"));
  EXPECT_FALSE(fs::exists(run_)) << "nothing was begun";
}

TEST_F(Refusals, AFitHasNoTraining) {
  ASSERT_TRUE(small_.make());
  const fs::path base = best_checkpoint(run_ / "training/retro/checkpoints")->path;
  RunConfig fit = config_;
  fit.fit.base = base.string();
  fit.directory = small_.path("fit").string();
  EXPECT_THAT(error_of([&] {
                execute_stages(fit, {"train.baseline", "train.retro"});
              }),
              HasSubstr("no stage `train.retro`: fit.base is set"));
}

TEST_F(Refusals, AMissingInputIsNamedBeforeAnythingIsWritten) {
  ASSERT_EQ(execute_stages(config_, kText), 0);
  config_.sample.max_tokens = 21;
  EXPECT_THAT(refusal({"train.baseline", "train.retro"}), HasSubstr("needs `database`"));
  config_.tokenizer.vocabulary = 280;
  EXPECT_THAT(refusal({"corpus"}), HasSubstr("needs `tokenizer`"));
  EXPECT_EQ(execute_stages(config_, kText), 0) << "what an earlier one makes is not missing";
}

TEST_F(Refusals, OneProcessAtATimeMakesARun) {
  ASSERT_EQ(execute_stages(config_, kText), 0);
  config_.sample.max_tokens = 21;
  const FileLock other(run_ / "run.lock", "the test");
  const auto names_both =
      AllOf(HasSubstr(config_.directory), HasSubstr(std::to_string(::getpid())));
  EXPECT_THAT(refusal(kText), names_both);
  EXPECT_THAT(error_of([&] { execute_run(config_); }), names_both);
}

TEST_F(Refusals, WithoutTextToTrainOnThereIsNoRun) {
  config_.corpus.sources.erase(config_.corpus.sources.begin());
  EXPECT_THAT(error_of([&] { execute_run(config_); }), HasSubstr("retro database build"));
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_EQ(execute_stages(config_, {"tokenizer", "corpus", "database", "index"}), 0);
}

TEST_F(Refusals, AModelOutlivesATrainingThatCannotBegin) {
  ASSERT_TRUE(small_.make());
  const fs::path checkpoints = run_ / "training/retro/checkpoints";
  const fs::path weights = best_checkpoint(checkpoints)->path / "model.safetensors";
  const std::string before = testing::slurp(weights);
  RunConfig wrong = config_;
  wrong.model.vocabulary = 100;
  EXPECT_THAT(error_of([&] { execute_stages(wrong, {"train.retro"}); }),
              HasSubstr("model.vocabulary is 100"));
  EXPECT_EQ(testing::slurp(weights), before);
  EXPECT_EQ(execute_stages(config_, {"train.retro"}), 0);
  EXPECT_EQ(testing::slurp(weights), before) << "and is up to date";
}

}  // namespace
}  // namespace retro
