// Rotary frequencies by their formulas, and cross-attention's common frame.
#include <cmath>

#include "retro/core/error.h"
#include "retro/model/rotary_table.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

TEST(RotaryFrequencies, FollowTheirFormulas) {
  RotaryConfig rotary;
  rotary.base = 16;
  // base^(-2j/A): 16^0, 16^-1/2.
  EXPECT_EQ(rotary_frequencies(rotary, 4), (std::vector<double>{1.0, 0.25}));
  rotary.factor = 4;
  rotary.scaling = "linear";
  EXPECT_EQ(rotary_frequencies(rotary, 4), (std::vector<double>{0.25, 0.0625}));
  // ntk: base' = 16 * 4^(4/2) = 256; the slowest frequency is divided by the factor: 1/16.
  rotary.scaling = "ntk";
  EXPECT_EQ(rotary_frequencies(rotary, 4), (std::vector<double>{1.0, 0.0625}));
}

TEST(RotaryFrequencies, Llama3KeepsFastOnesAndStretchesSlowOnes) {
  RotaryConfig rotary;
  rotary.base = 1e8;
  rotary.scaling = "llama3";
  rotary.factor = 8;
  rotary.original_length = 64;
  const auto scaled = rotary_frequencies(rotary, 8);
  // Turns in 64 tokens: 64/2pi x (1, 1e-2, 1e-4, 1e-6) = 10.2, 0.10, ...: above 4, below 1.
  EXPECT_DOUBLE_EQ(scaled[0], 1.0);
  EXPECT_DOUBLE_EQ(scaled[1], 1e-2 / 8);
  EXPECT_DOUBLE_EQ(scaled[3], 1e-6 / 8);
}

TEST(RotaryFrequencies, YarnRaisesQueriesAndKeys) {
  RotaryConfig rotary;
  EXPECT_EQ(rotary_attention_factor(rotary), 1.0);
  rotary.scaling = "yarn";
  rotary.factor = std::exp(1.0);
  EXPECT_DOUBLE_EQ(rotary_attention_factor(rotary), 1.1);
  rotary.attention_factor = 0.7;
  EXPECT_EQ(rotary_attention_factor(rotary), 0.7);
}

ModelConfig rotary_config() {
  ModelConfig config = small_config();
  config.block.positions = "rotary";
  config.cca_scheme = "rotary";
  return config;
}

/// METHOD section 3's frame: row i of a chunk stands at m-1+i, whatever the chunk. With m = 4:
/// positions 3, 4, 5, 6 | 7, ... are rows 0, 1, 2, 3 | 0, ...
TEST(RotaryCrossAttention, QueriesRestartAtEveryChunk) {
  const torch::Tensor positions = cross_query_positions(4, 0, 12);
  EXPECT_TRUE(torch::equal(positions.slice(0, 3),
                           torch::tensor({3, 4, 5, 6, 3, 4, 5, 6, 3}, torch::kLong)));
}

/// Neighbours share one frame: their order does not matter.
TEST(RotaryCrossAttention, PermutedNeighboursGiveTheSame) {
  const ModelConfig config = rotary_config();
  RetroModel model = random_model(config);
  ModelInput input = random_input(config, 2, 14, 3);
  const torch::NoGradGuard no_gradients;
  const torch::Tensor before = model->logits(input);
  EXPECT_GT(largest_difference(before, model->logits(without_retrieval(input))), 1e-2);
  input.neighbours_BLKR = input.neighbours_BLKR.flip(2);
  EXPECT_LE(largest_difference(model->logits(input), before), kFloat64Slack);
}

/// Positions matter: what a neighbour's tokens mean depends on where they stand.
TEST(RotaryCrossAttention, PositionsOfANeighbourMatter) {
  ModelConfig config = rotary_config();
  for (const bool has_positions : {true, false}) {
    config.cca_positions = has_positions;
    config.encoder.query_conditioning = false;
    RetroModel model = random_model(config);
    const int64_t d = config.width;
    EncodedNeighbours neighbours;
    torch::manual_seed(2);
    neighbours.encoded_BLTE = torch::randn({1, 2, 8, config.encoder.width}, torch::kDouble);
    neighbours.is_real_BLT = torch::ones({1, 2, 8}, torch::kBool);
    neighbours.retrieved_length = 8;
    const torch::Tensor stream = torch::randn({1, 8, d}, torch::kDouble);
    const torch::NoGradGuard no_gradients;
    const auto& block = *model->decoder->layers[1];
    const torch::Tensor before = block.add_cross_attention(stream, neighbours, Precision::kFloat32);
    neighbours.encoded_BLTE = neighbours.encoded_BLTE.flip(2);
    const double moved = largest_difference(
        block.add_cross_attention(stream, neighbours, Precision::kFloat32), before);
    if (has_positions) {
      EXPECT_GT(moved, 1e-3);
    } else {
      EXPECT_LE(moved, kFloat64Slack);
    }
  }
}

TEST(LearnedPositions, MoreTokensThanPositionsAreRefused) {
  ModelConfig config = small_config();
  config.block.positions = "learned";
  config.block.max_positions = 6;
  RetroModel model(config, 1);
  EXPECT_NO_THROW(model->logits(without_retrieval(random_input(config, 1, 6, 1))));
  EXPECT_THROW(model->logits(without_retrieval(random_input(config, 1, 7, 1))), Error);
}

}  // namespace
}  // namespace retro::testing
