// Two operations a multiply-add, counted by hand.
#include "model_test_support.h"

namespace retro::testing {
namespace {

/// d = 4, one head of 2 (HA = 2), f = 8, V = 10, one layer; B = 1, n = 4:
/// output 4 * 4 * 10 = 160; query, key, value, output 4 * (4 * 4 * 2) = 128; relative table 4 * 4 *
/// 2 = 32; feed-forward 2 * (4 * 4 * 8) = 256; 10 pairs, each content, position and value: 10 * 3 *
/// 2 = 60. Sum 636.
ModelConfig tiny_config() {
  ModelConfig config;
  config.vocabulary = 10;
  config.width = 4;
  config.layers = 1;
  config.heads = 1;
  config.head_width = 2;
  config.feed_forward = 8;
  config.chunk_length = 2;
  config.cca_layers = {0};
  config.encoder.width = 6;
  config.encoder.layers = 1;
  config.encoder.feed_forward = 10;
  return config;
}

constexpr double kDecoder = 2 * 636;

TEST(ForwardFlops, Baseline) {
  ModelConfig config = tiny_config();
  config.cca_layers.clear();
  EXPECT_EQ(RetroModel(config, 1)->forward_flops(1, 4, 2), kDecoder);
  EXPECT_EQ(RetroModel(tiny_config(), 1)->forward_flops(1, 4, 0), kDecoder);
  EXPECT_EQ(RetroModel(tiny_config(), 1)->forward_flops(1, 1, 2), 2 * (40 + 32 + 8 + 64 + 6));
}

/// m = 2, r = 4, l = 2 chunks, k = 3: 24 retrieved tokens in 6 values, d' = 6.
/// CCA: query and output 2 * (4 * 4 * 2) = 64; key and value 2 * (24 * 6 * 2) = 576; relative
/// table, distances -2..2: 5 * 4 * 2 = 40; 3 attending rows, 12 keys each: 3 * 12 * 3 * 2 = 216.
/// Sum 896. Encoder: 4 * (24 * 6 * 2) = 1152; table of 7 distances 7 * 6 * 2 = 84; 6 * 16 pairs * 3
/// * 2 = 576; feed-forward 2 * (24 * 6 * 10) = 2880. Sum 4692. Conditioning: query and output 576;
/// key and value of the chunks 2 * (4 * 4 * 2) = 64; table of 5 distances 5 * 6 * 2 = 60; 6 * 4 * 2
/// pairs * 3 * 2 = 288. Sum 988.
TEST(ForwardFlops, Retrieval) {
  EXPECT_EQ(RetroModel(tiny_config(), 1)->forward_flops(1, 4, 3),
            kDecoder + 2 * (896 + 4692 + 988));
  ModelConfig config = tiny_config();
  config.encoder.query_conditioning = false;
  EXPECT_EQ(RetroModel(config, 1)->forward_flops(1, 4, 3), kDecoder + 2 * (896 + 4692));
}

}  // namespace
}  // namespace retro::testing
