#include "retro/model/model_config.h"

#include <functional>

#include <gmock/gmock.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

namespace retro {
namespace {

using ::testing::HasSubstr;

ModelConfig some_config() {
  ModelConfig config;
  config.vocabulary = 100;
  return config;
}

TEST(ModelConfig, ZerosAreFilled) {
  ModelConfig config = some_config();
  config.width = 256;
  config.heads = 16;
  config.head_width = 64;
  config.init_std = 0;
  const ModelConfig full = config.resolved();
  EXPECT_EQ(full.feed_forward, 1024);
  EXPECT_EQ(full.encoder.width, 256);
  EXPECT_EQ(full.encoder.heads, 16);
  EXPECT_EQ(full.encoder.head_width, 64);
  EXPECT_EQ(full.encoder.feed_forward, 1024);
  EXPECT_DOUBLE_EQ(full.init_std, 1.0 / 16);
}

TEST(ModelConfig, EncoderFeedForwardFollowsItsOwnWidth) {
  ModelConfig config = some_config();
  config.encoder.width = 96;
  EXPECT_EQ(config.resolved().encoder.feed_forward, 384);
}

TEST(ModelConfig, ResolvedIsIdempotentAndSurvivesYaml) {
  ModelConfig config = some_config();
  config.cca_layers = {1, 3};
  config.retrieved_part = "neighbour";
  config.dropout = 0.25;
  config.encoder.cross_attention_layers = {};
  const std::string yaml = to_yaml(config.resolved());
  ModelConfig read;
  ConfigSource::from_text(yaml).parse(read);
  EXPECT_EQ(to_yaml(read.resolved()), yaml);
  EXPECT_EQ(to_yaml(config.resolved().resolved()), yaml);
}

std::string error_of(const std::function<void(ModelConfig&)>& change) {
  ModelConfig config = some_config();
  change(config);
  try {
    config.resolved();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ModelConfig, ContradictionsNameTheKey) {
  EXPECT_EQ(error_of([](ModelConfig&) {}), "");
  EXPECT_THAT(error_of([](ModelConfig& c) { c.width = 127; }), HasSubstr("model.width"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.heads = 0; }), HasSubstr("model.heads"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.chunk_length = -1; }),
              HasSubstr("model.chunk_length"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.vocabulary = -5; }), HasSubstr("model.vocabulary"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.feed_forward = -4; }),
              HasSubstr("model.feed_forward"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.cca_layers = {4}; }), HasSubstr("model.cca_layers"));
  EXPECT_THAT(error_of([](ModelConfig& c) {
                c.cca_layers = {1, 1};
              }),
              HasSubstr("model.cca_layers"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.dropout = 1; }), HasSubstr("model.dropout"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.init_std = -0.1; }), HasSubstr("model.init_std"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.encoder.width = 33; }),
              HasSubstr("model.encoder.width"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.encoder.heads = -1; }),
              HasSubstr("model.encoder.heads"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.encoder.layers = 0; }),
              HasSubstr("model.encoder.layers"));
  EXPECT_THAT(error_of([](ModelConfig& c) { c.encoder.cross_attention_layers = {2}; }),
              HasSubstr("model.encoder.cross_attention_layers"));
  EXPECT_THAT(error_of([](ModelConfig& c) {
                c.share_embeddings = true;
                c.encoder.width = 64;
              }),
              HasSubstr("model.share_embeddings"));
}

}  // namespace
}  // namespace retro
