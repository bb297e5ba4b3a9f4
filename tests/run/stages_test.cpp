#include "retro/run/stages.h"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"

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

TEST_F(StagesTest, KeysThatChangeNoResultMakeNothingAgain) {
  EXPECT_TRUE(remade([](RunConfig& config) {
                config.train.log_every = 7;
                config.train.keep_last = 5;
                config.threads = 1;
              }).empty());
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
