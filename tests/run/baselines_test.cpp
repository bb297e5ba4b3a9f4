// The fair baselines: one as large as RETRO, one that reads the database's text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/run/model_setup.h"
#include "retro/run/source_weights.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TinyCorpus;
using testing::TinySource;

TEST(Baselines, NamesFollowTheConfig) {
  RunConfig config;
  EXPECT_THAT(baseline_names(config), ElementsAre("baseline"));
  config.baseline.parameter_matched = true;
  config.baseline.database_text = true;
  EXPECT_THAT(baseline_names(config),
              ElementsAre("baseline", "baseline_wide", "baseline_database"));
  config.baseline.enabled = false;
  EXPECT_THAT(baseline_names(config), IsEmpty());
  EXPECT_EQ(training_of("baseline_wide"), "baseline_wide");
  EXPECT_EQ(training_of("leaked"), "retro");
}

TEST(Baselines, TheWideOneHasRetrosNumberOfParameters) {
  RunConfig config;
  config.model.width = 64;
  config.model.heads = 2;
  const ByteTokenizer tokenizer;
  const auto count = [&](const std::string& training) {
    return make_model(config, tokenizer, training)->num_parameters();
  };
  const int64_t retro = count("retro");
  EXPECT_LT(count("baseline"), retro - 50'000);
  // Half a feature of 4 layers, up and down.
  EXPECT_LE(std::abs(count("baseline_wide") - retro), 4 * 64);
  EXPECT_EQ(make_model(config, tokenizer, "baseline_wide")->encoder, nullptr);
}

TEST(Baselines, TextOfTheDatabaseSharesItsFamilysWeight) {
  const TinyCorpus corpus(std::vector<TinySource>{{"new", {std::string(300, 'a')}},
                                                  {"old", {std::string(100, 'b')}},
                                                  {"other", {std::string(50, 'c')}}});
  CorpusConfig sources;
  for (const auto& [name, family] :
       {std::pair("new", "manual"), std::pair("old", "manual"), std::pair("other", "")}) {
    SourceConfig source;
    source.name = name;
    source.family = family;
    sources.sources.push_back(source);
  }
  const ChunkGrid grid = corpus.grid(64);
  EXPECT_THAT(weights_with_database(sources, grid, {}), IsEmpty());
  const auto weights = weights_with_database(sources, grid, {{"new", 0.8}});
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_DOUBLE_EQ(weights.at("new"), 0.6);
  EXPECT_DOUBLE_EQ(weights.at("old"), 0.2);
  EXPECT_DOUBLE_EQ(weights.at("other"), 0.1);  // an eighth of the 400 tokens that have a weight
}

}  // namespace
}  // namespace retro
