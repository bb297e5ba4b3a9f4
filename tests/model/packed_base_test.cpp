// A frozen base kept in fewer bits: the same model as one whose weights were rounded to them.
#include <filesystem>

#include <gtest/gtest.h>

#include "retro/core/safetensors.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPacked[] = {"query", "key", "value", "output", "gate", "up", "down"};

bool is_packed_weight(const std::string& name) {
  if (!is_base_weight(name)) return false;
  return std::any_of(std::begin(kPacked), std::end(kPacked), [&](const char* part) {
    return name.starts_with("decoder.layers.") && name.ends_with(std::string(part) + ".weight");
  });
}

class PackedBaseTest : public ::testing::TestWithParam<WeightFormat> {
 protected:
  PackedBaseTest() : directory_(fs::temp_directory_path() / "retro_packed_base_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    ModelConfig shape = small_config();
    shape.width = 32;
    shape.head_width = 16;
    shape.feed_forward = 64;
    shape.cca_layers.clear();
    shape.block.positions = "rotary";
    shape.block.feed_forward = "swiglu";
    base_path_ = directory_ / "base.safetensors";
    save_weights(RetroModel(shape, 3), base_path_);
    ModelConfig wanted = small_config();
    wanted.encoder.width = 0;
    wanted.share_embeddings = true;
    config_ = retrofit_config(shape.resolved(), wanted);
    input_ = random_input(config_, 2, 14, 2);
  }
  ~PackedBaseTest() override { fs::remove_all(directory_); }

  RetroModel fitted() const {
    RetroModel model = retrofit(base_path_, config_, {7, true, {}});
    const torch::NoGradGuard no_gradients;
    torch::manual_seed(5);
    for (auto& item : model->named_parameters()) {
      if (item.value().requires_grad()) item.value().add_(torch::randn_like(item.value()), 0.3);
    }
    model->eval();
    return model;
  }
  RetroModel packed() const {
    RetroModel model = fitted();
    model->pack_base(GetParam());
    return model;
  }
  RetroModel rounded() const {
    RetroModel model = fitted();
    const torch::NoGradGuard no_gradients;
    for (auto& item : model->named_parameters()) {
      if (is_packed_weight(item.key()))
        item.value().copy_(from_blocks(to_blocks(item.value(), GetParam())));
    }
    return model;
  }
  static double difference(const torch::Tensor& a, const torch::Tensor& b) {
    return ((a - b).abs().max() / b.abs().max()).item<double>();
  }

  fs::path directory_, base_path_;
  ModelConfig config_;
  ModelInput input_;
};

TEST_P(PackedBaseTest, LogitsAndGradientsAreThoseOfTheRoundedWeights) {
  RetroModel small = packed(), expected = rounded();
  const torch::Tensor on = small->logits(input_);
  EXPECT_LT(difference(on, expected->logits(input_)), 1e-5);
  EXPECT_GT(difference(on, fitted()->logits(input_)), 1e-5);  // the rounding shows
  on.square().sum().backward();
  expected->logits(input_).square().sum().backward();
  for (const auto& item : small->named_parameters()) {
    EXPECT_EQ(item.value().numel() == 0, is_packed_weight(item.key())) << item.key();
    if (!item.value().requires_grad()) continue;
    EXPECT_LT(difference(item.value().grad(), parameter(expected, item.key()).grad()), 1e-4)
        << item.key();
  }
}

TEST_P(PackedBaseTest, WithoutTheBaseItComputesTheSame) {
  RetroModel whole = without_base(packed());
  whole->eval();
  EXPECT_TRUE(whole->base_hash().empty());
  EXPECT_LT(difference(whole->logits(input_), packed()->logits(input_)), 1e-5);
  const RetroModel expected = rounded();
  for (const auto& item : expected->named_parameters())
    EXPECT_TRUE(torch::equal(parameter(whole, item.key()), item.value())) << item.key();
}

TEST_P(PackedBaseTest, RetrievalOffIsTheBaseInThatFormatBitForBit) {
  RetroModel base = load_model(base_path_);
  base->pack_base(GetParam());
  EXPECT_TRUE(torch::equal(packed()->logits(without_retrieval(input_)),
                           base->logits(without_retrieval(input_))));
}

TEST_P(PackedBaseTest, CountsAndCheckpointsAreThoseOfAnyFit) {
  RetroModel small = packed();
  EXPECT_EQ(small->num_parameters(), fitted()->num_parameters());
  EXPECT_EQ(small->num_trained_parameters(), fitted()->num_trained_parameters());
  const fs::path path = directory_ / "fitted.safetensors";
  save_weights(small, path);
  const SafetensorsReader saved(path);
  for (const auto& [name, view] : saved.tensors()) EXPECT_FALSE(is_base_weight(name)) << name;
  RetroModel again = retrofit(base_path_, config_, {8, true, {}});
  again->pack_base(GetParam());
  load_weights(again, path);
  again->eval();
  EXPECT_TRUE(torch::equal(again->logits(input_), small->logits(input_)));
}

INSTANTIATE_TEST_SUITE_P(Formats, PackedBaseTest,
                         ::testing::Values(WeightFormat::kBfloat16, WeightFormat::kQ8_0));

}  // namespace
}  // namespace retro::testing
