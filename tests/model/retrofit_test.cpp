// RETRO-fitting (METHOD section 5): what is new, what stays, what a checkpoint holds.
#include "retro/model/retrofit.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/safetensors.h"
#include "retro/model/weights.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

/// A Llama-like base of three layers on disk, and the configuration of its fitted model.
class RetrofitTest : public ::testing::Test {
 protected:
  RetrofitTest() : directory_(fs::temp_directory_path() / "retro_retrofit_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    ModelConfig shape = small_config();
    shape.cca_layers.clear();
    shape.block.positions = "rotary";
    shape.block.feed_forward = "swiglu";
    shape.block.key_value_heads = 1;
    base_path_ = directory_ / "base.safetensors";
    base_ = RetroModel(shape, 3);
    save_weights(base_, base_path_);
    ModelConfig wanted = small_config();
    wanted.encoder.width = 0;
    wanted.share_embeddings = true;
    wanted.dropout = 0.5;
    config_ = retrofit_config(shape.resolved(), wanted);
    input_ = random_input(config_, 2, 14, 2);
  }
  ~RetrofitTest() override { fs::remove_all(directory_); }

  RetroModel fitted(bool is_frozen = true) const {
    return retrofit(base_path_, config_, {7, is_frozen, {}});
  }
  /// Moves every trained weight.
  static void disturb(RetroModel& model) {
    const torch::NoGradGuard no_gradients;
    torch::manual_seed(5);
    for (auto& item : model->named_parameters()) {
      if (item.value().requires_grad()) item.value().add_(torch::randn_like(item.value()), 0.3);
    }
  }

  fs::path directory_, base_path_;
  RetroModel base_{nullptr};
  ModelConfig config_;
  ModelInput input_;
};

TEST(RetrofitLayers, EveryThirdFromTheSixth) {
  EXPECT_EQ(default_retrofit_layers(12), (std::vector<int64_t>{5, 8, 11}));
  EXPECT_EQ(default_retrofit_layers(30), (std::vector<int64_t>{5, 8, 11, 14, 17, 20, 23, 26, 29}));
  EXPECT_TRUE(default_retrofit_layers(5).empty());
}

// The base is the fitted model's baseline: both must attend to the same positions.
TEST_F(RetrofitTest, TheAttentionMaskIsTheBases) {
  for (const bool across : {true, false}) {
    ModelConfig base = base_->config(), wanted = config_;
    base.attend_across_documents = across;
    wanted.attend_across_documents = !across;
    EXPECT_EQ(retrofit_config(base, wanted).attend_across_documents, across);
  }
}

TEST_F(RetrofitTest, StepZeroEqualsTheBaseWithRetrievalOnAndOff) {
  RetroModel model = fitted();
  model->eval();
  const torch::Tensor expected = base_->logits(without_retrieval(input_));
  EXPECT_TRUE(torch::equal(model->logits(without_retrieval(input_)), expected));
  EXPECT_TRUE(torch::equal(model->logits(input_), expected));
}

TEST_F(RetrofitTest, OnlyEncoderAndCrossAttentionWantGradients) {
  RetroModel model = fitted();
  model->train();
  disturb(model);
  model->logits(input_).square().sum().backward();
  int64_t trained = 0;
  for (const auto& item : model->named_parameters()) {
    const bool is_new = item.key().starts_with("encoder.") ||
                        item.key().find(".cross_attention.") != std::string::npos;
    EXPECT_EQ(item.value().requires_grad(), is_new) << item.key();
    EXPECT_EQ(item.value().grad().defined(), is_new) << item.key();
    if (is_new) trained += item.value().numel();
  }
  EXPECT_FALSE(model->named_parameters().contains("encoder.embed.weight"));
  EXPECT_EQ(model->num_trained_parameters(), trained);
  EXPECT_EQ(fitted(false)->num_trained_parameters(), model->num_parameters());
}

/// No dropout in the base, and the new parts change nothing with retrieval off.
TEST_F(RetrofitTest, RetrievalOffStaysTheBaseBitForBit) {
  RetroModel model = fitted();
  model->train();
  disturb(model);
  const torch::Tensor expected = base_->logits(without_retrieval(input_));
  EXPECT_TRUE(torch::equal(model->logits(without_retrieval(input_)), expected));
  EXPECT_FALSE(torch::equal(model->logits(input_), expected));
}

TEST_F(RetrofitTest, BelowTheFirstRetroLayerNothingIsRecorded) {
  RetroModel model = fitted();
  model->eval();
  disturb(model);
  const torch::Tensor with_graph = model->logits(input_);
  ASSERT_TRUE(with_graph.requires_grad());
  EXPECT_FALSE(model->logits(without_retrieval(input_)).requires_grad());
  // Gradients equal those of a model that records everything.
  with_graph.square().sum().backward();
  RetroModel whole = fitted(false);
  whole->eval();
  {
    const torch::NoGradGuard no_gradients;
    for (auto& item : whole->named_parameters()) item.value().copy_(parameter(model, item.key()));
  }
  whole->logits(input_).square().sum().backward();
  for (const auto& item : model->named_parameters()) {
    if (!item.value().requires_grad()) continue;
    EXPECT_TRUE(torch::equal(item.value().grad(), parameter(whole, item.key()).grad()))
        << item.key();
  }
}

TEST_F(RetrofitTest, ACheckpointHoldsTheNewWeightsAndTheBasesHash) {
  RetroModel model = fitted();
  disturb(model);
  const fs::path path = directory_ / "fitted.safetensors";
  save_weights(model, path);
  const SafetensorsReader reader(path);
  EXPECT_EQ(reader.metadata().at("base"), hash_file(base_path_));
  for (const auto& [name, view] : reader.tensors())
    EXPECT_TRUE(name.starts_with("encoder.") || name.find("cross_attention") != std::string::npos);
  RetroModel again = fitted();
  load_weights(again, path);
  model->eval();
  again->eval();
  EXPECT_TRUE(torch::equal(again->logits(input_), model->logits(input_)));
}

TEST_F(RetrofitTest, AnotherBaseIsRefused) {
  const fs::path path = directory_ / "fitted.safetensors";
  save_weights(fitted(), path);
  save_weights(RetroModel(base_->config(), 4), base_path_);
  RetroModel other = fitted();
  try {
    load_weights(other, path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("another base model"));
  }
  EXPECT_THROW(load_model(path), Error);
}

}  // namespace
}  // namespace retro::testing
