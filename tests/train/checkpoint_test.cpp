#include "retro/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"
#include "retro/train/training_step.h"

#include "train/toy_run.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointTest : public ::testing::Test {
 protected:
  std::filesystem::path save(int64_t step, std::optional<double> validation = {}) {
    TrainState state;
    state.step = step;
    state.micro_step = 2 * step;
    state.tokens = 100 * step;
    state.seed = 9;
    state.seconds = 1.5;
    state.data_identity = "text";
    state.validation = validation;
    return save_checkpoint(directory_.path(), model_, optimizer_, state,
                           {model_->config(), testing::toy_train_config()});
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> out;
    for (const auto& info : list_checkpoints(directory_.path())) out.push_back(info.state.step);
    return out;
  }

  testing::TemporaryDirectory directory_;
  RetroModel model_{testing::toy_model_config(), 1};
  AdamW optimizer_{trained_parameters(model_), {}};
};

TEST_F(CheckpointTest, HoldsFourFilesUnderItsStep) {
  const auto path = save(200);
  EXPECT_EQ(path.filename(), "step_000200");
  for (const char* name :
       {"model.safetensors", "optimizer.safetensors", "trainer.json", "config.yaml"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(path / name)) << name;
  }
  EXPECT_EQ(checkpoint_name(12'345'678), "step_12345678");
}

TEST_F(CheckpointTest, StateAndConfigComeBack) {
  const auto path = save(200, 1.25);
  RetroModel other(testing::toy_model_config(), 2);
  AdamW other_optimizer(trained_parameters(other), {});
  const TrainState state = load_checkpoint(path, other, other_optimizer);
  EXPECT_EQ(state.step, 200);
  EXPECT_EQ(state.micro_step, 400);
  EXPECT_EQ(state.tokens, 20'000);
  EXPECT_EQ(state.seed, 9);
  EXPECT_EQ(state.seconds, 1.5);
  EXPECT_EQ(state.data_identity, "text");
  EXPECT_EQ(state.validation, 1.25);
  const auto restored = other->named_parameters();
  for (const auto& item : model_->named_parameters()) {
    EXPECT_TRUE(item.value().equal(restored[item.key()])) << item.key();
  }
  const CheckpointConfig config = read_checkpoint_config(path);
  EXPECT_EQ(to_yaml(config.train), to_yaml(testing::toy_train_config()));
  EXPECT_EQ(to_yaml(config.model), to_yaml(model_->config()));
}

TEST_F(CheckpointTest, AreListedByStepAndForeignNamesAreNot) {
  for (const int64_t step : {30, 4, 1'000'000}) save(step);
  std::filesystem::create_directories(directory_.path() / "step_000007.tmp-1-1");
  std::filesystem::create_directories(directory_.path() / "step_");
  write_file(directory_.path() / "step_000009", "a file");
  EXPECT_THAT(steps(), ElementsAre(4, 30, 1'000'000));
  EXPECT_EQ(newest_checkpoint(directory_.path())->state.step, 1'000'000);
}

TEST_F(CheckpointTest, NoDirectoryIsNoCheckpoint) {
  const auto missing = directory_.path() / "missing";
  EXPECT_THAT(list_checkpoints(missing), IsEmpty());
  EXPECT_FALSE(newest_checkpoint(missing));
  EXPECT_FALSE(best_checkpoint(missing));
}

TEST_F(CheckpointTest, TheBestHasTheLowestValidation) {
  save(1, 2.0);
  save(2, 1.5);
  save(3, 1.75);
  save(4);
  EXPECT_EQ(best_checkpoint(directory_.path())->state.step, 2);
}

TEST_F(CheckpointTest, WithoutValidationTheNewestIsTheBest) {
  save(1);
  save(2);
  EXPECT_EQ(best_checkpoint(directory_.path())->state.step, 2);
}

TEST_F(CheckpointTest, PruningKeepsTheLastAndTheBest) {
  save(1, 2.0);
  save(2, 1.5);
  for (const int64_t step : {3, 4, 5}) save(step, 1.75);
  prune_checkpoints(directory_.path(), 2);
  EXPECT_THAT(steps(), ElementsAre(2, 4, 5));
  prune_checkpoints(directory_.path(), 10);
  EXPECT_THAT(steps(), ElementsAre(2, 4, 5));
}

TEST_F(CheckpointTest, PruningFinishesAnInterruptedRemoval) {
  save(1);
  std::filesystem::rename(directory_.path() / "step_000001",
                          directory_.path() / "removing_step_000001");
  EXPECT_THAT(steps(), IsEmpty());
  prune_checkpoints(directory_.path(), 2);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(CheckpointTest, PruningRemovesWhatAKilledProcessLeftHalfWritten) {
  save(1);
  // No process has so high a number.
  const auto leftover = directory_.path() / "step_000002.tmp-999999999-0";
  std::filesystem::create_directories(leftover);
  write_file(leftover / "model.safetensors", "half");
  const TemporaryDirectory being_written(directory_.path() / "step_000003");
  prune_checkpoints(directory_.path(), 2);
  EXPECT_FALSE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::filesystem::exists(being_written.path()));
  EXPECT_THAT(steps(), ElementsAre(1));
}

TEST_F(CheckpointTest, DamagedStateIsRefusedByName) {
  const auto path = save(1) / "trainer.json";
  write_file(path, R"({"version": 1, "step": "one"})");
  try {
    list_checkpoints(directory_.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    EXPECT_THAT(error.what(), HasSubstr("step"));
  }
}

}  // namespace
}  // namespace retro
