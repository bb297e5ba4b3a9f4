#include "retro/model/parameter_count.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

/// Parts of a real model, by the names of METHOD section 3.
ParameterCount counted(const RetroModel& model) {
  ParameterCount count;
  for (const auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    if (name.starts_with("encoder.")) {
      count.encoder += item.value().numel();
    } else if (name.find(".cross_attention.") != std::string::npos) {
      count.cross_attention += item.value().numel();
    } else {
      count.decoder += item.value().numel();
    }
  }
  return count;
}

void expect_same(const ModelConfig& config) {
  const RetroModel model(config, 1);
  const ParameterCount expected = counted(model);
  const ParameterCount actual = count_parameters(config.resolved());
  EXPECT_EQ(actual.decoder, expected.decoder);
  EXPECT_EQ(actual.cross_attention, expected.cross_attention);
  EXPECT_EQ(actual.encoder, expected.encoder);
  EXPECT_EQ(actual.total(), model->num_parameters());
}

TEST(ParameterCount, IsThatOfARealModel) { expect_same(small_config()); }

TEST(ParameterCount, OfTiedAndSharedEmbeddings) {
  ModelConfig config = small_config();
  config.encoder.width = config.width;
  config.share_embeddings = true;
  config.tie_output = true;
  config.encoder.query_conditioning = false;
  expect_same(config);
}

TEST(ParameterCount, OfABaseline) {
  ModelConfig config = small_config();
  config.cca_layers.clear();
  expect_same(config);
}

TEST(ParameterCount, OfLlamasBlocks) {
  ModelConfig config = small_config();
  config.heads = 4;
  config.head_width = 8;
  config.block.positions = "rotary";
  config.block.feed_forward = "swiglu";
  config.block.key_value_heads = 2;
  config.cca_scheme = "rotary";
  expect_same(config);
}

TEST(ParameterCount, OfGpt2sBlocks) {
  ModelConfig config = small_config();
  config.block.norm = "layer";
  config.block.positions = "learned";
  config.block.max_positions = 64;
  config.block.bias = true;
  expect_same(config);
}

}  // namespace
}  // namespace retro::testing
