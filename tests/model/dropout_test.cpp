#include "model_test_support.h"

namespace retro::testing {
namespace {

class Dropout : public ::testing::Test {
 protected:
  Dropout() {
    ModelConfig config = small_config();
    plain_ = random_model(config);
    config.dropout = 0.4;
    model_ = random_model(config);
    input_ = random_input(config, 2, 13, 2);
  }
  torch::Tensor training_logits(uint64_t seed) {
    model_->train();
    torch::manual_seed(seed);
    return model_->logits(input_);
  }
  RetroModel plain_{nullptr};
  RetroModel model_{nullptr};
  ModelInput input_;
};

TEST_F(Dropout, IsOffOutsideTraining) {
  model_->eval();
  EXPECT_TRUE(torch::equal(model_->logits(input_), plain_->logits(input_)));
}

TEST_F(Dropout, ZeroIsOffInTraining) {
  const torch::Tensor expected = plain_->logits(input_);
  plain_->train();
  EXPECT_TRUE(torch::equal(plain_->logits(input_), expected));
}

TEST_F(Dropout, FollowsTorchsSeed) {
  const torch::Tensor first = training_logits(3);
  EXPECT_TRUE(torch::equal(training_logits(3), first));
  EXPECT_GT(largest_difference(training_logits(4), first), 1e-3);
}

/// The update of a layer is zeroed with probability p and scaled by 1 / (1 - p) elsewhere.
TEST_F(Dropout, DropsItsShareOfAnUpdate) {
  model_->train();
  const torch::Tensor stream = torch::randn({40, 25, 16}, torch::kDouble);
  const DecoderBlockImpl& block = *model_->decoder->layers[0];
  const torch::Tensor dropped = block.add_feed_forward(stream, Precision::kFloat32) - stream;
  model_->eval();
  const torch::Tensor whole = block.add_feed_forward(stream, Precision::kFloat32) - stream;
  const torch::Tensor is_dropped = dropped.eq(0);
  EXPECT_NEAR(is_dropped.to(torch::kDouble).mean().item<double>(), 0.4,
              5 * std::sqrt(0.24 / 16000));
  const torch::Tensor expected = torch::where(is_dropped, torch::zeros_like(whole), whole / 0.6);
  EXPECT_LT(largest_difference(dropped, expected), kFloat64Slack);
}

TEST_F(Dropout, GradientsAreThoseOfTheSameMask) {
  const torch::Tensor loss = training_logits(3).square().sum();
  const torch::Tensor first =
      gradient(model_, loss, "decoder.layers.0.self_attention.value.weight");
  const torch::Tensor again = gradient(model_, training_logits(3).square().sum(),
                                       "decoder.layers.0.self_attention.value.weight");
  EXPECT_TRUE(torch::equal(first, again));
}

}  // namespace
}  // namespace retro::testing
