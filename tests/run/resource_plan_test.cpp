#include "retro/run/resource_plan.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// The model of tests/model/flops_test.cpp: 1,272 operations for four positions without retrieval.
RunConfig tiny_run() {
  RunConfig config;
  config.embed.model = "hashed:8";
  config.model.vocabulary = 10;
  config.model.width = 4;
  config.model.layers = 1;
  config.model.heads = 1;
  config.model.head_width = 2;
  config.model.feed_forward = 8;
  config.model.chunk_length = 2;
  config.model.cca_layers.clear();
  config.database.chunk_length = 2;
  config.train.steps = 5;
  config.train.accumulation = 3;
  config.train.batch_size = 2;
  config.train.sequence_length = 4;
  return config;
}

TEST(ResourcePlan, TrainingOfABaselineByHand) {
  const ResourcePlan plan = plan_resources(tiny_run(), 100);
  // embedding and output 2 x 40; norms 4 + 4 + 4; four projections 4 x 8, relative 8, biases 2 x 2;
  // feed-forward 2 x 32
  EXPECT_EQ(plan.parameters.total(), 200);
  EXPECT_EQ(plan.train_tokens, 5 * 3 * 2 * 4);
  EXPECT_EQ(plan.train_flops, 3.0 * 30 * 1272);
  EXPECT_EQ(plan.weight_bytes, 16 * 200);
  EXPECT_EQ(plan.checkpoint_bytes, 12 * 200);
}

TEST(ResourcePlan, AFrozenBaseHasNoGradientsAndIsInNoCheckpoint) {
  RunConfig config = tiny_run();
  config.model.cca_layers = {0};
  const ResourcePlan scratch = plan_resources(config, 100);
  EXPECT_EQ(scratch.num_trained, scratch.parameters.total());
  config.fit.base = "somewhere";
  config.fit.base_precision = "bfloat16";
  const ResourcePlan fit = plan_resources(config, 100);
  EXPECT_EQ(fit.parameters.decoder, 200);
  EXPECT_EQ(fit.num_trained, fit.parameters.cross_attention + fit.parameters.encoder);
  EXPECT_EQ(fit.weight_bytes, 16.0 * static_cast<double>(fit.num_trained) + 2.0 * 200);
  EXPECT_EQ(fit.checkpoint_bytes, 12.0 * static_cast<double>(fit.num_trained));
  config.fit.freeze = "none";
  EXPECT_EQ(plan_resources(config, 100).checkpoint_bytes, scratch.checkpoint_bytes);
}

TEST(ResourcePlan, WithoutTextToTrainOnItIsOfTheDatabase) {
  RunConfig config = tiny_run();
  const auto said = [&] {
    return fmt::format("{}", fmt::join(describe(plan_resources(config, 100), config), "\n"));
  };
  EXPECT_THAT(said(), ::testing::HasSubstr("training "));
  config.train.steps = 0;
  config.corpus.sources.resize(1);
  config.corpus.sources[0].kind = "database";
  EXPECT_THAT(said(), ::testing::StartsWith("database "));
  EXPECT_THAT(said(), ::testing::HasSubstr("100 tokens in 50 chunks"));
}

TEST(ResourcePlan, AnAssumedEncoderIsSaid) {
  RunConfig config = tiny_run();
  config.embed.model = "/there/is/none";
  EXPECT_FALSE(plan_resources(config, 100).is_key_width_known);
  EXPECT_TRUE(plan_resources(tiny_run(), 100).is_key_width_known);
}

TEST(ResourcePlan, DatabaseOfThePapersSize) {
  RunConfig config = tiny_run();
  config.database.chunk_length = 64;
  config.model.chunk_length = 64;
  const ResourcePlan plan = plan_resources(config, 1.75e12);
  EXPECT_EQ(plan.database_chunks, 27'343'750'000);
  EXPECT_EQ(plan.key_width, 8);
  EXPECT_EQ(plan.value_bytes, 7e12);
  EXPECT_EQ(plan.key_bytes, 16 * 27'343'750'000.0);  // 8 features of 2 bytes
  EXPECT_EQ(plan.index_type, "ivf_pq");
  EXPECT_EQ(plan.index_bytes, 9 * 27'343'750'000.0);    // 2 codes of 4 bits, an id of 8 bytes
  EXPECT_EQ(plan.table_bytes, 120 * 27'343'750'000.0);  // 10 ids and distances
}

TEST(ResourcePlan, ASmallDatabaseNeedsNoIndex) {
  const ResourcePlan plan = plan_resources(tiny_run(), 1000);
  EXPECT_EQ(plan.database_chunks, 500);
  EXPECT_EQ(plan.index_type, "exact");
  EXPECT_EQ(plan.index_bytes, 0);
}

TEST(ResourcePlan, RecomputationKeepsLess) {
  RunConfig config = tiny_run();
  config.model.cca_layers = {0};
  const double all = plan_resources(config, 100).activation_bytes;
  config.train.recompute = "block";
  EXPECT_LT(plan_resources(config, 100).activation_bytes, all / 2);
}

TEST(ResourcePlan, TokenCountsAsPeopleWriteThem) {
  EXPECT_EQ(parse_token_count("4096"), 4096);
  EXPECT_EQ(parse_token_count("300M"), 3e8);
  EXPECT_EQ(parse_token_count("1.75T"), 1.75e12);
  for (const char* text : {"", "T", "3X", "-1", "nan", "4 M"})
    EXPECT_THROW((void)parse_token_count(text), Error) << text;
}

}  // namespace
}  // namespace retro
