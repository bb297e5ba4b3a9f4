#include "retro/run/stale_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/file_system.h"
#include "retro/run/stages.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StaleResults : public ::testing::Test {
 protected:
  StaleResults() {
    config_.knn.enabled = true;
    write_config();
    for (const char* stage : {"eval", "knn"}) finish(stage);
  }
  void write_config() const {
    fs::create_directories(config_.directory);
    write_file(RunPaths(config_).config(), to_yaml(config_));
  }
  StageGraph graph() const { return {config_.directory, list_stages(config_)}; }
  /// As if it had been executed.
  void finish(const std::string& stage) const {
    const StageGraph stages = graph();
    stages.begin(stage);
    for (const fs::path& output : stages.stage(stage).outputs) {
      fs::create_directories(output.parent_path());
      write_file(output, "{}");
    }
    stages.finish(stage, 1);
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
};

TEST_F(StaleResults, WhatTheConfigurationAsksForIsNot) {
  EXPECT_THAT(stale_results(config_.directory), IsEmpty());
}

TEST_F(StaleResults, AnotherConfigurationLeavesThemBehind) {
  config_.eval.alphas = {0.5, 1.0};
  write_config();
  EXPECT_THAT(stale_results(config_.directory), ElementsAre("eval", "knn"));
  finish("eval");
  EXPECT_THAT(stale_results(config_.directory), ElementsAre("knn"));
  config_.knn.enabled = false;  // then the page does not ask for it
  write_config();
  EXPECT_THAT(stale_results(config_.directory), IsEmpty());
}

TEST_F(StaleResults, AStageThatIsNotFinishedHasNoResultOfItsOwn) {
  graph().begin("knn");
  EXPECT_THAT(stale_results(config_.directory), ElementsAre("knn"));
}

TEST_F(StaleResults, WhereNothingCanBeToldNothingIs) {
  config_.eval.alphas = {0.5, 1.0};
  write_config();
  fs::remove(small_.path("database.jsonl"));
  EXPECT_THAT(stale_results(config_.directory), IsEmpty());
  fs::remove_all(fs::path(config_.directory) / "stages");
  EXPECT_THAT(stale_results(config_.directory), IsEmpty());
  EXPECT_FALSE(fs::exists(fs::path(config_.directory) / "stages"));
}

}  // namespace
}  // namespace retro
