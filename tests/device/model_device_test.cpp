// The whole model on device "cuda": every tensor it makes is there, or an operation refuses.
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/model/weights.h"

#include "device_model.h"
#include "device_test_support.h"

namespace retro::testing {
namespace {

struct ModelOutcome {
  at::Tensor logits;
  std::map<std::string, at::Tensor> gradients;
};

ModelOutcome run(const ModelConfig& config, at::Device device, Precision precision,
                 Recompute recompute = Recompute::kNone) {
  RetroModel model = device_model(config, device, precision);
  model->set_recompute(recompute);
  model->train();
  torch::manual_seed(11);
  const at::Tensor logits = model->logits(device_input(config));
  logits.square().mean().backward();
  ModelOutcome result{logits.detach().cpu(), {}};
  for (const auto& item : model->named_parameters()) {
    if (item.value().grad().defined()) result.gradients[item.key()] = item.value().grad().cpu();
  }
  return result;
}

/// Of the largest element of each tensor: a few layers on top of the single operations' share.
double model_tolerance(Precision precision) { return 12 * tolerance(precision); }

void expect_same_model(const ModelConfig& config) {
  const ModelOutcome expected = run(config, at::kCPU, Precision::kFloat32);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    SCOPED_TRACE(precision_name(precision));
    const ModelOutcome actual = run(config, kDevice, precision);
    expect_near(actual.logits, expected.logits, model_tolerance(precision), "logits");
    EXPECT_EQ(actual.gradients.size(), expected.gradients.size());
    for (const auto& [name, gradient] : expected.gradients) {
      expect_near(actual.gradients.at(name), gradient, model_tolerance(precision), name);
    }
  }
}

TEST(ModelDevice, Retro) { expect_same_model(device_config()); }

TEST(ModelDevice, DocumentsApartSharedEmbeddingsTiedOutput) {
  ModelConfig config = device_config();
  config.attend_across_documents = false;
  config.encoder.width = config.width;
  config.encoder.head_width = 32;
  config.share_embeddings = true;
  config.tie_output = true;
  config.retrieved_part = "neighbour";
  expect_same_model(config);
}

TEST(ModelDevice, ImportedBlocks) {
  ModelConfig config = device_config();
  config.block.norm = "layer";
  config.block.positions = "rotary";
  config.block.key_value_heads = 1;
  config.block.feed_forward = "swiglu";
  config.block.bias = true;
  config.cca_scheme = "rotary";
  expect_same_model(config);
}

TEST(ModelDevice, LearnedPositions) {
  ModelConfig config = device_config();
  config.block.positions = "learned";
  config.block.max_positions = 64;
  config.cca_positions = false;
  expect_same_model(config);
}

void expect_same_bits_recomputed(const ModelConfig& config) {
  const ModelOutcome kept = run(config, kDevice, Precision::kBfloat16);
  const ModelOutcome again = run(config, kDevice, Precision::kBfloat16, Recompute::kBlock);
  EXPECT_TRUE(at::equal(kept.logits, again.logits));
  for (const auto& [name, gradient] : kept.gradients) {
    EXPECT_TRUE(at::equal(gradient, again.gradients.at(name))) << name;
  }
}

TEST(ModelDevice, RecomputationAndDropoutGiveTheSameBits) {
  ModelConfig config = device_config();
  config.dropout = 0.3;
  expect_same_bits_recomputed(config);
}

/// A bias is rounded before it is added, with autograd and without.
TEST(ModelDevice, RecomputationWithBiasesGivesTheSameBits) {
  ModelConfig config = device_config();
  config.block.bias = true;
  expect_same_bits_recomputed(config);
}

TEST(ModelDevice, ActivationsAreBfloat16AndWeightsAreNot) {
  RetroModel model = device_model(device_config(), kDevice, Precision::kBfloat16);
  EXPECT_EQ(model->hidden(device_input(device_config())).scalar_type(), at::kBFloat16);
  for (const at::Tensor& weight : model->parameters()) {
    EXPECT_EQ(weight.scalar_type(), at::kFloat);
    EXPECT_EQ(weight.device(), kDevice);
  }
}

TEST(ModelDevice, WeightsGoToADiskAndToTheCpuAndBack) {
  const auto path = std::filesystem::temp_directory_path() / "retro_model_device.safetensors";
  const RetroModel there = device_model(device_config(), kDevice, Precision::kFloat32);
  save_weights(there, path);
  const RetroModel here = load_model(path);
  RetroModel again(device_config(), 99);
  again->to(kDevice);
  load_weights(again, path);
  std::filesystem::remove(path);
  for (const auto& item : there->named_parameters()) {
    EXPECT_TRUE(here->named_parameters()[item.key()].is_cpu());
    EXPECT_TRUE(at::equal(item.value().cpu(), here->named_parameters()[item.key()])) << item.key();
    EXPECT_TRUE(at::equal(item.value().cpu(), again->named_parameters()[item.key()].cpu()));
    EXPECT_TRUE(again->named_parameters()[item.key()].is_cuda());
  }
}

}  // namespace
}  // namespace retro::testing
