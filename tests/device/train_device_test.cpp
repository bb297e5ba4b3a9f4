// Training on device "cuda": curves beside the CPU's, checkpoints from one to the other.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/json.h"
#include "retro/train/frozen_cache.h"
#include "retro/train/frozen_cost.h"
#include "retro/train/trainer.h"
#include "retro/train/validation.h"

#include "device_model.h"
#include "device_test_support.h"
#include "train/toy_run.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

/// ToyRun with head widths that kernels have.
TrainInputs inputs_on(const ToyRun& toy, at::Device device) {
  ModelConfig config = toy_model_config();
  config.heads = 1;
  config.head_width = 32;
  config.encoder.heads = 1;
  config.encoder.head_width = 32;
  config.dropout = 0;
  TrainInputs inputs = toy.inputs();
  inputs.model = RetroModel(config, 1);
  inputs.model->to(device);
  return inputs;
}

TrainConfig short_training(int64_t steps, const std::string& precision) {
  TrainConfig config = toy_train_config();
  config.steps = steps;
  config.accumulation = 1;
  config.batch_size = 2;
  config.precision = precision;
  config.validation_every = 0;
  return config;
}

std::vector<double> losses(const fs::path& directory) {
  std::vector<double> result;
  std::ifstream lines(directory / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    result.push_back(parse_json(line, "metrics").at("loss").get<double>());
  }
  return result;
}

std::vector<double> curve(at::Device device, int64_t steps, const std::string& precision) {
  const ToyRun toy;
  const fs::path directory = toy.directory() / "run";
  train(short_training(steps, precision), inputs_on(toy, device), directory);
  return losses(directory);
}

/// The stated bound: at every step the loss in bfloat16 is within 2 % of float32's.
TEST(TrainDevice, CurvesOfBothPrecisionsStayTogether) {
  const auto exact = curve(at::kCPU, 20, "float32");
  const auto device = curve(kDevice, 20, "float32");
  const auto rounded = curve(kDevice, 20, "bfloat16");
  ASSERT_EQ(exact.size(), 20U);
  ASSERT_EQ(device.size(), 20U);
  ASSERT_EQ(rounded.size(), 20U);
  EXPECT_LT(exact.back(), 0.8 * exact.front()) << "nothing was learned, nothing is compared";
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(device[i], exact[i], 1e-4 * exact[i]) << "step " << i;
    EXPECT_NEAR(rounded[i], exact[i], 0.02 * exact[i]) << "step " << i;
  }
}

TEST(TrainDevice, ACheckpointGoesOnElsewhere) {
  const ToyRun toy;
  const fs::path whole = toy.directory() / "whole", mixed = toy.directory() / "mixed";
  const TrainConfig config = short_training(9, "float32");
  train(config, inputs_on(toy, at::kCPU), whole);
  for (const auto& [device, until] :
       {std::pair(kDevice, 3), std::pair(at::Device(at::kCPU), 6), std::pair(kDevice, 9)}) {
    TrainInputs inputs = inputs_on(toy, device);
    const int64_t start = until - 3;
    inputs.should_stop = [steps = int64_t{0}, count = until - start]() mutable {
      return ++steps == count;
    };
    const TrainResult result = train(config, inputs, mixed);
    EXPECT_EQ(result.step, until);
  }
  const auto expected = losses(whole), actual = losses(mixed);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-4 * expected[i]) << "step " << i;
  }
}

TEST(TrainDevice, ValidationIsTheSame) {
  const ToyRun toy;
  const EvaluationDataset dataset(toy.validation_grid(), ByteTokenizer::kEnd, 3);
  const auto loss = [&](at::Device device) {
    RetroModel model = inputs_on(toy, device).model;
    return validate(model, dataset, &toy.validation_neighbours(), {.k = 2}).loss();
  };
  EXPECT_NEAR(loss(kDevice), loss(at::kCPU), 1e-5);
}

// Activations are bfloat16 there, records float32 on the host.
TEST(TrainDevice, AFrozenStreamFromTheCacheChangesNoBit) {
  const ModelConfig config = device_config();
  RetroModel model = device_model(config, kDevice, Precision::kBfloat16);
  ModelInput input = device_input(config);
  const at::Tensor expected = model->logits(input).detach().cpu();
  Batch batch;
  batch.tokens_BN = input.tokens_BN;
  batch.real_BN = input.real_BN;
  batch.document_BN = input.document_BN;
  const ToyRun toy;
  FrozenCache cache(toy.directory() / "frozen.cache", model, input.tokens_BN.size(1));
  for (const int64_t num_read : {0, 2}) {
    input.frozen_BND = cache.stream(model, batch);
    EXPECT_EQ(cache.num_read(), num_read);
    EXPECT_TRUE(input.frozen_BND.is_cpu());
    EXPECT_TRUE(at::equal(model->logits(input).detach().cpu(), expected));
  }
}

TEST(TrainDevice, ACachedSequenceHoldsFloat32) {
  const ModelConfig config = device_config();
  RetroModel model = device_model(config, kDevice, Precision::kBfloat16);
  Batch batch;
  batch.tokens_BN = torch::zeros({2, 12}, torch::kLong);
  batch.real_BN = torch::ones({2, 12}, torch::kBool);
  batch.document_BN = torch::zeros({2, 12}, torch::kLong);
  const ToyRun toy;
  const FrozenCost cost = measure_frozen_cost(model, batch, toy.directory());
  EXPECT_EQ(cost.bytes, 12 * config.width * int64_t{sizeof(float)});
  EXPECT_GT(cost.compute_seconds, 0.0);
}

}  // namespace
}  // namespace retro::testing
