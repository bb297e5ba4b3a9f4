// Retrieval off, missing neighbours, and inputs that do not fit.
#include "retro/core/error.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

/// The same model without CCA: weights of equal names are equal.
RetroModel baseline_of(const ModelConfig& config) {
  ModelConfig baseline = config;
  baseline.cca_layers.clear();
  return random_model(baseline);
}

TEST(Retrieval, OffIsTheBaselineBitForBit) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  RetroModel baseline = baseline_of(config);
  ASSERT_FALSE(baseline->encoder);
  const ModelInput input = random_input(config, 2, 13, 2);
  const torch::Tensor expected = baseline->logits(without_retrieval(input));
  EXPECT_TRUE(torch::equal(model->logits(without_retrieval(input)), expected));
  EXPECT_TRUE(torch::equal(baseline->logits(input), expected)) << "a baseline reads no neighbours";
  EXPECT_GT(largest_difference(model->logits(input), expected), 1e-3);
}

/// k = 0 and sequences shorter than a chunk: no CCA at all.
TEST(Retrieval, NothingToRetrieveIsOff) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  ModelInput input = random_input(config, 2, 9, 0);
  EXPECT_TRUE(torch::equal(model->logits(input), model->logits(without_retrieval(input))));
  input = random_input(config, 2, config.chunk_length - 1, 2);
  EXPECT_EQ(input.neighbours_BLKR.size(1), 0);
  EXPECT_TRUE(torch::equal(model->logits(input), model->logits(without_retrieval(input))));
}

TEST(Retrieval, MissingNeighboursAreOffWithFiniteGradients) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  ModelInput input = random_input(config, 2, 13, 2);
  const torch::Tensor off = model->logits(without_retrieval(input));
  input.neighbours_BLKR.fill_(-1);
  const torch::Tensor on = model->logits(input);
  EXPECT_TRUE(torch::equal(on, off));
  on.square().sum().backward();
  for (const auto& item : model->named_parameters()) {
    const torch::Tensor grad = item.value().grad();
    if (!grad.defined()) continue;
    EXPECT_TRUE(grad.isfinite().all().item<bool>()) << item.key();
    const bool is_retrieval = item.key().starts_with("encoder.") ||
                              item.key().find("cross_attention") != std::string::npos;
    EXPECT_EQ(grad.eq(0).all().item<bool>(), is_retrieval) << item.key();
  }
}

/// Without their neighbours, exactly the attending rows of that chunk (and what follows) lose them.
TEST(Retrieval, OneMissingNeighbourContributesNothing) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  ModelInput one = random_input(config, 1, 12, 1);
  ModelInput two = one;
  two.neighbours_BLKR =
      torch::cat({one.neighbours_BLKR, torch::full_like(one.neighbours_BLKR, -1)}, 2);
  EXPECT_LT(largest_difference(model->logits(one), model->logits(two)), kFloat64Slack);
}

TEST(Retrieval, NeighboursArePermutable) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  ModelInput input = random_input(config, 2, 13, 3);
  const torch::Tensor expected = model->logits(input);
  input.neighbours_BLKR = input.neighbours_BLKR.index_select(2, torch::tensor({2, 0, 1}));
  EXPECT_LT(largest_difference(model->logits(input), expected), kFloat64Slack);
  input.neighbours_BLKR = input.neighbours_BLKR.flip(3);
  EXPECT_GT(largest_difference(model->logits(input), expected), 1e-3)
      << "positions within a neighbour matter";
}

TEST(Retrieval, InputsThatDoNotFitAreRefused) {
  const ModelConfig config = small_config();
  RetroModel model = random_model(config);
  ModelInput input = random_input(config, 2, 12, 2);
  input.neighbours_BLKR = input.neighbours_BLKR.slice(1, 0, 2);
  EXPECT_THROW(model->logits(input), Error);
  input = random_input(config, 2, 12, 2);
  input.tokens_BN[0][3] = config.vocabulary;
  EXPECT_THROW(model->logits(input), Error);
  input = random_input(config, 2, 12, 2);
  input.neighbours_BLKR[1][0][0][0] = config.vocabulary;
  EXPECT_THROW(model->logits(input), Error);
  input = random_input(config, 2, 12, 2);
  input.real_BN = torch::ones({2, 11}, torch::kBool);
  EXPECT_THROW(model->logits(input), Error);
  input.tokens_BN = torch::zeros({2, 12}, torch::kInt);
  EXPECT_THROW(model->logits(input), Error);
}

}  // namespace
}  // namespace retro::testing
