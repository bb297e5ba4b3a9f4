#include "retro/run/stages.h"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/file_system.h"
#include "retro/run/model_setup.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

class StagesTest : public ::testing::Test {
 protected:
  StagesTest() : directory_(fs::temp_directory_path() / "retro_stages_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    write_file(directory_ / "text.jsonl", "{\"id\":\"a\",\"text\":\"words\"}\n");
    config_.directory = (directory_ / "run").string();
    config_.corpus.sources.resize(1);
    config_.corpus.sources[0].name = "text";
    config_.corpus.sources[0].path = (directory_ / "text.jsonl").string();
    config_.embed.model = "hashed:16";
    config_.threads = 2;
  }
  ~StagesTest() override { fs::remove_all(directory_); }

  std::map<std::string, std::string> keys(const RunConfig& config) const {
    const StageGraph graph(directory_ / "run", list_stages(config));
    std::map<std::string, std::string> result;
    for (const Stage& stage : graph.stages()) result[stage.name] = graph.key(stage.name);
    return result;
  }

  /// Names of the stages that `change` would make again.
  std::set<std::string> remade(const std::function<void(RunConfig&)>& change) const {
    RunConfig changed = config_;
    change(changed);
    const auto before = keys(config_), after = keys(changed);
    std::set<std::string> names;
    for (const auto& [name, key] : after) {
      if (before.at(name) != key) names.insert(name);
    }
    return names;
  }

  fs::path directory_;
  RunConfig config_;
};

TEST_F(StagesTest, ANewPromptOnlySamplesAgain) {
  EXPECT_THAT(remade([](RunConfig& config) { config.sample.prompt = "another"; }),
              UnorderedElementsAre("sample", "report"));
}

TEST_F(StagesTest, ANewAlphaTrainsNothing) {
  EXPECT_THAT(remade([](RunConfig& config) {
                config.eval.alphas = {0.5, 1.0};
              }),
              UnorderedElementsAre("passes.baseline", "passes.retro", "eval", "report"));
}

TEST_F(StagesTest, AnotherShiftTestTrainsNothing) {
  EXPECT_THAT(remade([](RunConfig& config) {
                config.eval.shifts = {0, 3};
              }),
              UnorderedElementsAre("neighbours.evaluation", "passes.baseline", "passes.retro",
                                   "eval", "report"));
}

TEST_F(StagesTest, TheCurriculumDoesNotTouchTheBaseline) {
  const auto names = remade([](RunConfig& config) { config.train.self_neighbour.rate = 0.5; });
  EXPECT_TRUE(names.contains("train.retro"));
  EXPECT_FALSE(names.contains("train.baseline"));
  EXPECT_FALSE(names.contains("database"));
}

// What a training goes on with when it was interrupted must not remove it when it is finished.
TEST_F(StagesTest, KeysThatChangeNoResultMakeNothingAgain) {
  const std::map<std::string, std::string> values = {
      {"validation_every", "7"}, {"validation_sequences", "8"},
      {"checkpoint_every", "9"}, {"keep_last", "5"},
      {"log_every", "11"},       {"precision", "float32"},
      {"recompute", "block"},    {"threads", "3"},
      {"data_threads", "2"},     {"thread_share", "products"}};
  for (const std::string& key : harmless_keys()) {
    ASSERT_TRUE(values.contains(key)) << key;
    EXPECT_THAT(remade([&](RunConfig& config) {
                  ConfigSource::from_text(key + ": " + values.at(key)).parse(config.train);
                }),
                ::testing::IsEmpty())
        << key;
  }
  EXPECT_THAT(remade([](RunConfig& config) { config.threads = 1; }), ::testing::IsEmpty());
}

TEST_F(StagesTest, KeysThatDecideATrainingMakeItAgain) {
  const std::vector<std::function<void(RunConfig&)>> changes = {
      [](RunConfig& config) { config.train.learning_rate *= 2; },
      [](RunConfig& config) {
        config.train.sources = {{"text", 0.5}};
      },
      [](RunConfig& config) { config.model.dropout = 0.1; },
      [](RunConfig& config) { config.model.cca_layers = {1}; },
  };
  for (size_t i = 0; i < changes.size(); ++i)
    EXPECT_THAT(remade(changes[i]), ::testing::IsSupersetOf({"train.retro", "train.baseline"}))
        << i;
}

// A release with a new key has it at its default in every configuration that was written before.
TEST_F(StagesTest, AKeyWithItsDefaultIsNotInWhatDecidesATraining) {
  RunConfig config = config_;
  EXPECT_EQ(decisive_text(config.train), "");
  config.train.learning_rate = 0.25;
  config.train.keep_last = 3;
  config.train.sources = {{"text", 0.5}};
  EXPECT_EQ(decisive_text(config.train), "learning_rate: 0.25\nsources.text: 0.5\n");
}

// An interrupted baseline goes on: its key says that nothing of it has changed.
TEST_F(StagesTest, WhatABaselinesKeyLeavesOutItsTrainingLeavesOut) {
  RunConfig changed = config_;
  changed.train.neighbours = {1, 3};
  changed.train.self_neighbour = {0.5, 0.5, 2};
  changed.train.useless_neighbours = {0.25, 0.5};
  EXPECT_EQ(keys(changed).at("train.baseline"), keys(config_).at("train.baseline"));
  EXPECT_THAT(changed_keys(baseline_train_config(config_), baseline_train_config(changed)),
              ::testing::IsEmpty());
  changed.baseline.learning_rate = 0.125;
  EXPECT_NE(keys(changed).at("train.baseline"), keys(config_).at("train.baseline"));
  EXPECT_EQ(baseline_train_config(changed).learning_rate, 0.125);
  changed.train.steps = 10;
  changed.train.warmup_steps = 2;
  EXPECT_NO_THROW(baseline_train_config(changed).check(config_.model.chunk_length));
}

TEST_F(StagesTest, WhereTheTextLiesDoesNotMatter) {
  EXPECT_TRUE(remade([this](RunConfig& config) {
                fs::copy_file(directory_ / "text.jsonl", directory_ / "moved.jsonl");
                config.corpus.sources[0].path = (directory_ / "moved.jsonl").string();
              }).empty());
}

TEST_F(StagesTest, AnotherChunkLengthMakesTheDatabaseAndAllBehindItAgain) {
  const auto names = remade([](RunConfig& config) {
    config.database.chunk_length = 32;
    config.model.chunk_length = 32;
  });
  EXPECT_FALSE(names.contains("corpus"));
  for (const char* name :
       {"database", "index", "neighbours.training", "train.retro", "eval", "report"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// A change of the database may have come in between: only the builders, under its lock, can tell.
TEST_F(StagesTest, DatabaseIndexAndTablesReplaceThemselves) {
  const StageGraph graph(directory_ / "run", list_stages(config_));
  for (const char* name : {"database", "index", "neighbours.training", "neighbours.evaluation"})
    EXPECT_TRUE(graph.stage(name).replaces_itself) << name;
  for (const char* name : {"tokenizer", "corpus", "train.retro"})
    EXPECT_FALSE(graph.stage(name).replaces_itself) << name;
}

TEST_F(StagesTest, WithoutABaselineItsStagesAreGone) {
  config_.baseline.enabled = false;
  const auto all = keys(config_);
  EXPECT_FALSE(all.contains("train.baseline"));
  EXPECT_FALSE(all.contains("passes.baseline"));
  EXPECT_TRUE(all.contains("eval"));
}

}  // namespace
}  // namespace retro
