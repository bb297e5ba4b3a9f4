// Gradients of the whole model against central differences in float64.
#include "model_test_support.h"

namespace retro::testing {
namespace {

/// A sum over all logits with weights of both signs, so that nothing cancels.
torch::Tensor weighted_sum(RetroModel& model, const ModelInput& input) {
  const torch::Tensor logits = model->logits(input);
  const torch::Tensor weights =
      torch::linspace(-1.0, 2.0, logits.numel(), logits.options()).view_as(logits);
  return (logits * weights).sum() / static_cast<double>(logits.numel());
}

/// Two-sided difference, fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h.
double central_difference(RetroModel& model, const ModelInput& input, double& value) {
  constexpr double kStep = 1e-4;
  const double centre = value;
  const auto at = [&](double offset) {
    value = centre + offset;
    const double result = weighted_sum(model, input).item<double>();
    value = centre;
    return result;
  };
  return (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
}

/// docs/testing.md: 1e-6 relative, floor 1e-8. Three elements of every parameter.
void check_gradients(const ModelConfig& config, const ModelInput& input) {
  RetroModel model = random_model(config);
  weighted_sum(model, input).backward();
  const torch::NoGradGuard no_gradients;
  RandomStream random(5, "elements");
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    const torch::Tensor gradient = item.value().grad().contiguous();
    torch::Tensor weight = item.value();
    for (int draw = 0; draw < 3; ++draw) {
      const auto element =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(weight.numel())));
      const double expected = central_difference(model, input, weight.data_ptr<double>()[element]);
      const double actual = gradient.data_ptr<double>()[element];
      EXPECT_NEAR(actual, expected, 1e-8 + 1e-6 * std::abs(expected))
          << item.key() << "[" << element << "]";
    }
  }
}

/// Few ids, so that most rows of the embeddings are read.
ModelConfig few_ids() {
  ModelConfig config = small_config();
  config.vocabulary = 9;
  return config;
}

TEST(ModelGradients, EqualCentralDifferences) {
  const ModelConfig config = few_ids();
  ModelInput input = random_input(config, 2, 14, 2);
  input.neighbours_BLKR[0][0][1].fill_(-1);
  input.neighbours_BLKR[0][1].fill_(-1);
  input.neighbours_BLKR[1][2].slice(1, 4, 8).fill_(-1);
  input.neighbours_BLKR[1][1][0].slice(0, 3, 4).fill_(-1);
  check_gradients(config, input);
}

TEST(ModelGradients, EqualCentralDifferencesWithPaddingAndDocuments) {
  ModelConfig config = few_ids();
  config.attend_across_documents = false;
  config.share_embeddings = config.tie_output = true;
  config.encoder.width = config.width;
  config.encoder.cross_attention_layers = {0, 1};
  ModelInput input = random_input(config, 2, 16, 1);
  input.real_BN = torch::ones({2, 16}, torch::kBool);
  input.real_BN.slice(1, 0, 3).fill_(false);
  input.real_BN.slice(1, 10, 12).fill_(false);
  input.document_BN = torch::tensor({0, 1, 1, 2}).repeat_interleave(4).expand({2, 16}).contiguous();
  check_gradients(config, input);
}

TEST(ModelGradients, EqualCentralDifferencesInLlamaBlocks) {
  ModelConfig config = few_ids();
  config.heads = 4;
  config.block.positions = "rotary";
  config.block.key_value_heads = 2;
  config.block.feed_forward = "swiglu";
  config.cca_scheme = "rotary";
  check_gradients(config, random_input(config, 2, 10, 2));
}

TEST(ModelGradients, EqualCentralDifferencesInGpt2Blocks) {
  ModelConfig config = few_ids();
  config.block.norm = "layer";
  config.block.positions = "learned";
  config.block.max_positions = 10;
  config.block.bias = true;
  check_gradients(config, random_input(config, 2, 10, 1));
}

}  // namespace
}  // namespace retro::testing
