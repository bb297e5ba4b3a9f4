#include "retro/model/recompute.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

/// Gradients by name of a loss of the logits, with dropout, after `recompute`.
std::vector<std::pair<std::string, torch::Tensor>> gradients_with(const ModelConfig& config,
                                                                  Recompute recompute) {
  RetroModel model = random_model(config);
  model->train();
  model->set_recompute(recompute);
  torch::manual_seed(5);
  ModelInput input = random_input(config, 2, 13, 2);
  input.neighbours_BLKR.index_put_({0, 1}, -1);
  const torch::Tensor logits = model->logits(input);
  // Random numbers drawn between forward and backward must not reach the second run.
  torch::rand({100});
  logits.square().sum().backward();
  std::vector<std::pair<std::string, torch::Tensor>> gradients = {{"logits", logits.detach()}};
  for (const auto& item : model->named_parameters())
    gradients.emplace_back(item.key(), item.value().grad());
  return gradients;
}

void expect_same_bits(const ModelConfig& config) {
  const auto kept = gradients_with(config, Recompute::kNone);
  const auto again = gradients_with(config, Recompute::kBlock);
  ASSERT_EQ(kept.size(), again.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_TRUE(kept[i].second.defined()) << kept[i].first;
    ASSERT_TRUE(again[i].second.defined()) << kept[i].first;
    EXPECT_TRUE(torch::equal(kept[i].second, again[i].second)) << kept[i].first;
  }
}

TEST(Recompute, GradientsAreTheSameBits) { expect_same_bits(small_config()); }

TEST(Recompute, DropoutDrawsTheSameMaskAgain) {
  ModelConfig config = small_config();
  config.dropout = 0.3;
  expect_same_bits(config);
}

TEST(Recompute, SharedEmbeddingsGetTheirWholeGradient) {
  ModelConfig config = small_config();
  config.encoder.width = config.width;
  config.share_embeddings = true;
  config.tie_output = true;
  config.encoder.cross_attention_layers = {1};
  expect_same_bits(config);
}

TEST(Recompute, TheGeneratorGoesOnWhereItWas) {
  ModelConfig config = small_config();
  config.dropout = 0.3;
  const auto draw_after_backward = [&](Recompute recompute) {
    gradients_with(config, recompute);
    return torch::rand({4});
  };
  const torch::Tensor expected = draw_after_backward(Recompute::kNone);
  EXPECT_TRUE(torch::equal(draw_after_backward(Recompute::kBlock), expected));
}

/// Only what enters a part is kept: the part's intermediate tensors die with forward.
TEST(Recompute, NothingInsideAPartIsKept) {
  const torch::Tensor weight = torch::rand({3}, torch::requires_grad());
  const torch::Tensor input = torch::rand({3});
  c10::weak_intrusive_ptr<c10::TensorImpl> inner(torch::rand({1}).getIntrusivePtr());
  int64_t calls = 0;
  const LayerPart part = [&](const std::vector<torch::Tensor>& inputs) {
    const torch::Tensor product = inputs[0] * weight;
    inner = c10::weak_intrusive_ptr<c10::TensorImpl>(product.getIntrusivePtr());
    ++calls;
    return product.exp();
  };
  const torch::Tensor result = run_part(Recompute::kBlock, part, {input}, {weight});
  EXPECT_TRUE(inner.expired());
  result.sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(torch::allclose(weight.grad(), input * (input * weight).exp()));
}

}  // namespace
}  // namespace retro::testing
