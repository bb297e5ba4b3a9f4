// Names, shapes and initial values of METHOD section 3.
#include <map>

#include "model_test_support.h"

namespace retro::testing {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

/// The table, written out for d = 16, d' = 14, HA = 12, f = 20, f' = 18, V = 120.
void add_attention(Shapes& shapes, const std::string& name, int64_t width, int64_t context) {
  shapes[name + ".norm.weight"] = {width};
  shapes[name + ".query.weight"] = {12, width};
  shapes[name + ".key.weight"] = {12, context};
  shapes[name + ".value.weight"] = {12, context};
  shapes[name + ".output.weight"] = {width, 12};
  shapes[name + ".relative.weight"] = {12, width};
  shapes[name + ".content_bias"] = {2, 6};
  shapes[name + ".position_bias"] = {2, 6};
}

void add_feed_forward(Shapes& shapes, const std::string& name, int64_t width, int64_t inner) {
  shapes[name + ".norm.weight"] = {width};
  shapes[name + ".up.weight"] = {inner, width};
  shapes[name + ".down.weight"] = {width, inner};
}

TEST(Parameters, HaveMethodsNamesAndShapes) {
  Shapes expected = {{"decoder.embed.weight", {120, 16}},
                     {"decoder.output.weight", {120, 16}},
                     {"decoder.norm.weight", {16}},
                     {"encoder.embed.weight", {120, 14}},
                     {"encoder.norm.weight", {14}}};
  for (const std::string layer : {"0", "1", "2"}) {
    add_attention(expected, "decoder.layers." + layer + ".self_attention", 16, 16);
    add_feed_forward(expected, "decoder.layers." + layer + ".feed_forward", 16, 20);
  }
  add_attention(expected, "decoder.layers.1.cross_attention", 16, 14);
  add_attention(expected, "decoder.layers.2.cross_attention", 16, 14);
  for (const std::string layer : {"0", "1"}) {
    add_attention(expected, "encoder.layers." + layer + ".self_attention", 14, 14);
    add_feed_forward(expected, "encoder.layers." + layer + ".feed_forward", 14, 18);
  }
  add_attention(expected, "encoder.layers.0.cross_attention", 14, 16);
  expected["encoder.layers.0.cross_attention.context_norm.weight"] = {16};
  Shapes actual;
  const RetroModel model(small_config(), 1);
  int64_t count = 0;
  for (const auto& item : model->named_parameters()) {
    actual[item.key()] = item.value().sizes().vec();
    count += item.value().numel();
  }
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(model->num_parameters(), count);
}

/// Not a number that follows from the others.
TEST(Parameters, HeadWidthIsNotTheWidthOverTheHeads) {
  ModelConfig config = small_config();
  config.heads = 3;
  config.head_width = 10;
  const RetroModel model(config, 1);
  EXPECT_EQ(parameter(model, "decoder.layers.0.self_attention.query.weight").sizes(),
            (torch::IntArrayRef{30, 16}));
  EXPECT_EQ(parameter(model, "encoder.layers.0.self_attention.content_bias").sizes(),
            (torch::IntArrayRef{3, 10}));
}

ModelConfig wide_config() {
  ModelConfig config = small_config();
  config.width = 64;
  config.heads = 4;
  config.head_width = 16;
  config.encoder.width = 64;
  config.init_std = 0.02;
  return config;
}

/// The sample's standard deviation lies within five standard errors of the stated one.
void expect_std(const RetroModel& model, const std::string& name, double expected) {
  const torch::Tensor weight = parameter(model, name);
  const double n = static_cast<double>(weight.numel());
  EXPECT_NEAR(weight.std().item<double>(), expected, 5 * expected / std::sqrt(2 * n)) << name;
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 5 * expected / std::sqrt(n)) << name;
}

TEST(InitialWeights, AreMethods) {
  const RetroModel model(wide_config(), 1);
  const double decoder_std = 0.02 / std::sqrt(2.0 * 3);
  const double encoder_std = 0.02 / std::sqrt(2.0 * 2);
  expect_std(model, "decoder.embed.weight", 0.02);
  expect_std(model, "decoder.layers.0.self_attention.relative.weight", 0.02);
  expect_std(model, "decoder.layers.0.self_attention.output.weight", decoder_std);
  expect_std(model, "decoder.layers.1.cross_attention.output.weight", decoder_std);
  expect_std(model, "decoder.layers.1.cross_attention.value.weight", 0.02);
  expect_std(model, "decoder.layers.2.feed_forward.down.weight", decoder_std);
  expect_std(model, "decoder.output.weight", 0.02);
  expect_std(model, "encoder.layers.0.cross_attention.output.weight", encoder_std);
  expect_std(model, "encoder.layers.1.feed_forward.down.weight", encoder_std);
  for (const auto& item : model->named_parameters()) {
    const bool is_gain = item.key().ends_with("norm.weight");
    if (is_gain || item.key().ends_with("_bias")) {
      EXPECT_TRUE(item.value().eq(is_gain ? 1 : 0).all().item<bool>()) << item.key();
    }
  }
}

TEST(InitialWeights, ZeroStdMeansOneOverRootWidth) {
  ModelConfig config = wide_config();
  config.init_std = 0;
  expect_std(RetroModel(config, 1), "decoder.embed.weight", 1.0 / 8);
}

TEST(InitialWeights, FollowTheSeedAndTheName) {
  const RetroModel model(wide_config(), 1);
  const RetroModel again(wide_config(), 1);
  const RetroModel other(wide_config(), 2);
  ModelConfig baseline_config = wide_config();
  baseline_config.cca_layers.clear();
  const RetroModel baseline(baseline_config, 1);
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), parameter(again, item.key()))) << item.key();
    if (item.value().std().item<double>() > 0) {
      EXPECT_FALSE(torch::equal(item.value(), parameter(other, item.key()))) << item.key();
    }
  }
  for (const auto& item : baseline->named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), parameter(model, item.key()))) << item.key();
  }
  EXPECT_FALSE(torch::equal(parameter(model, "decoder.layers.0.self_attention.key.weight"),
                            parameter(model, "decoder.layers.0.self_attention.value.weight")));
}

}  // namespace
}  // namespace retro::testing
