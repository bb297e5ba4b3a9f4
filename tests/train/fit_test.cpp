// Training on a frozen base (METHOD section 5).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/safetensors.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/train/training_step.h"

#include "train/toy_run.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

class FitTest : public ::testing::Test {
 protected:
  FitTest() : base_path_(toy_.directory() / "base.safetensors") {
    save_weights(RetroModel(toy_model_config(/*is_baseline=*/true), 3), base_path_);
    base_bytes_ = read_file(base_path_);
  }

  TrainInputs inputs(bool is_frozen = true) const {
    TrainInputs inputs = toy_.inputs();
    const ModelConfig base = read_model_config(base_path_).resolved();
    inputs.model =
        retrofit(base_path_, retrofit_config(base, toy_model_config()), {1, is_frozen, {}});
    return inputs;
  }
  ModelInput without_neighbours() const {
    ModelInput input;
    input.tokens_BN = at::arange(12, at::kLong).unsqueeze(0);
    return input;
  }

  ToyRun toy_;
  fs::path base_path_;
  std::string base_bytes_;
};

TEST_F(FitTest, TheLossFallsAndTheBaseStaysBitForBit) {
  TrainConfig config = toy_train_config();
  config.steps = 60;
  config.useless_neighbours = {};
  TrainInputs fit = inputs();
  const RetroModel base = load_model(base_path_);
  const TrainResult result = train(config, fit, toy_.directory() / "fit");
  fit.model->eval();
  RetroModel baseline = base;
  EXPECT_TRUE(
      at::equal(fit.model->logits(without_neighbours()), baseline->logits(without_neighbours())));
  const auto expected = base->named_parameters();
  for (const auto& item : fit.model->named_parameters()) {
    if (!is_base_weight(item.key())) continue;
    EXPECT_TRUE(at::equal(item.value(), expected[item.key()])) << item.key();
  }
  EXPECT_EQ(read_file(base_path_), base_bytes_);
  // Letters are uniform among six: only neighbours bring the loss below the base's.
  TrainConfig short_config = config;
  short_config.steps = 4;
  const TrainResult early = train(short_config, inputs(), toy_.directory() / "early");
  EXPECT_LT(result.loss, early.loss - 0.2);
}

TEST_F(FitTest, CheckpointsHoldTheNewWeightsAloneAndResumeBitForBit) {
  TrainConfig config = toy_train_config();
  config.checkpoint_every = 5;
  const TrainResult whole = train(config, inputs(), toy_.directory() / "whole");
  const SafetensorsReader reader(whole.checkpoint / "model.safetensors");
  for (const auto& [name, view] : reader.tensors()) EXPECT_FALSE(is_base_weight(name)) << name;
  const SafetensorsReader moments(whole.checkpoint / "optimizer.safetensors");
  EXPECT_FALSE(moments.contains("decoder.embed.weight.exp_avg"));

  TrainInputs first = inputs();
  int64_t steps = 0;
  first.should_stop = [&] { return ++steps == 5; };
  (void)train(config, first, toy_.directory() / "halves");
  const TrainResult second = train(config, inputs(), toy_.directory() / "halves");
  EXPECT_EQ(read_file(second.checkpoint / "model.safetensors"),
            read_file(whole.checkpoint / "model.safetensors"));
}

TEST_F(FitTest, AnotherBaseIsRefusedWhenTrainingGoesOn) {
  TrainConfig config = toy_train_config();
  (void)train(config, inputs(), toy_.directory() / "fit");
  save_weights(RetroModel(toy_model_config(true), 4), base_path_);
  try {
    (void)train(config, inputs(), toy_.directory() / "fit");
    FAIL() << "went on with another base";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("another base"));
  }
}

TEST_F(FitTest, UnfrozenEverythingIsTrainedAndSaved) {
  const TrainInputs fit = inputs(/*is_frozen=*/false);
  const TrainResult result = train(toy_train_config(), fit, toy_.directory() / "unfrozen");
  const RetroModel again = load_model(result.checkpoint / "model.safetensors");
  EXPECT_FALSE(at::equal(again->named_parameters()["decoder.embed.weight"],
                         load_model(base_path_)->named_parameters()["decoder.embed.weight"]));
}

/// A batch without neighbours has nothing to train.
TEST_F(FitTest, AStepWithoutNeighboursChangesNothing) {
  TrainConfig config = toy_train_config();
  config.neighbours = {0};
  config.self_neighbour = {};
  config.useless_neighbours = {};
  config.steps = 4;
  const TrainInputs fit = inputs();
  (void)train(config, fit, toy_.directory() / "none");
  const TrainInputs fresh = inputs();
  for (const auto& item : fit.model->named_parameters())
    EXPECT_TRUE(at::equal(item.value(), fresh.model->named_parameters()[item.key()]));
}

}  // namespace
}  // namespace retro::testing
