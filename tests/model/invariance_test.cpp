// What must not matter: length, the rest of the batch, the content of padding.
#include "model_test_support.h"

namespace retro::testing {
namespace {

class Invariance : public ::testing::Test {
 protected:
  ModelConfig config_ = small_config();
  RetroModel model_ = random_model(config_);
};

TEST_F(Invariance, LogitsOfAPrefixAreThoseOfTheWhole) {
  const int64_t m = config_.chunk_length;
  const ModelInput whole = random_input(config_, 2, 15, 2);
  const torch::Tensor expected = model_->logits(whole);
  for (const int64_t length : {int64_t{1}, m - 1, m, m + 1, 2 * m - 1, 2 * m, 3 * m + 1}) {
    ModelInput prefix;
    prefix.tokens_BN = whole.tokens_BN.slice(1, 0, length);
    prefix.neighbours_BLKR = whole.neighbours_BLKR.slice(1, 0, length / m);
    EXPECT_LT(largest_difference(model_->logits(prefix), expected.slice(1, 0, length)),
              kFloat64Slack)
        << length;
  }
}

TEST_F(Invariance, SequencesOfABatchAreIndependent) {
  const ModelInput batch = random_input(config_, 3, 13, 2);
  const torch::Tensor expected = model_->logits(batch);
  for (int64_t b = 0; b < 3; ++b) {
    ModelInput alone;
    alone.tokens_BN = batch.tokens_BN.slice(0, b, b + 1);
    alone.neighbours_BLKR = batch.neighbours_BLKR.slice(0, b, b + 1);
    EXPECT_LT(largest_difference(model_->logits(alone)[0], expected[b]), kFloat64Slack) << b;
  }
}

TEST_F(Invariance, EmptyBatch) {
  const ModelInput input = random_input(config_, 0, 12, 2);
  EXPECT_EQ(model_->logits(input).sizes(), (torch::IntArrayRef{0, 12, config_.vocabulary}));
}

/// A lead chunk and a short chunk: ids under masked positions move no real position, not through
/// self-attention, nor through H_u.
TEST_F(Invariance, ContentOfPaddingIsIrrelevant) {
  const int64_t m = config_.chunk_length;
  ModelInput input = random_input(config_, 2, 4 * m, 2);
  input.real_BN = torch::ones({2, 4 * m}, torch::kBool);
  input.real_BN.slice(1, 0, m - 1).fill_(false);
  input.real_BN.slice(1, 2 * m + 1, 3 * m).fill_(false);
  const torch::Tensor before = model_->logits(input);
  input.tokens_BN =
      torch::where(input.real_BN, input.tokens_BN, (input.tokens_BN + 17) % config_.vocabulary);
  const torch::Tensor after = model_->logits(input);
  const torch::Tensor changed = (before - after).abs().amax(-1).gt(0);
  EXPECT_TRUE(torch::equal(changed, input.real_BN.logical_not()));
}

TEST_F(Invariance, AllRealIsTheSameAsNoMask) {
  ModelInput input = random_input(config_, 2, 13, 2);
  const torch::Tensor expected = model_->logits(input);
  input.real_BN = torch::ones({2, 13}, torch::kBool);
  EXPECT_TRUE(torch::equal(model_->logits(input), expected));
}

/// A sequence of nothing but padding (the filled-up end of a stream) is finite, and so are its
/// gradients.
TEST_F(Invariance, NothingRealIsFinite) {
  ModelInput input = random_input(config_, 2, 12, 2);
  input.real_BN = torch::zeros({2, 12}, torch::kBool);
  const torch::Tensor logits = model_->logits(input);
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  logits.square().sum().backward();
  for (const auto& item : model_->named_parameters()) {
    if (item.value().grad().defined()) {
      EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
    }
  }
}

}  // namespace
}  // namespace retro::testing
