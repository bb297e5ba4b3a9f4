#include "retro/run/stage_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

/// text -> tokens -> model, and a table beside it.
class StageGraphTest : public ::testing::Test {
 protected:
  StageGraphTest() : directory_(fs::temp_directory_path() / "retro_stage_graph_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    write_file(directory_ / "text.jsonl", "one");
  }
  ~StageGraphTest() override { fs::remove_all(directory_); }

  std::vector<Stage> stages() const {
    Stage tokens{"tokens",
                 "tokens",
                 1,
                 tokens_config_,
                 {},
                 {directory_ / "text.jsonl"},
                 {directory_ / "tokens.bin"},
                 1};
    Stage model{"model", "model", 1, model_config_, {"tokens"}, {}, {directory_ / "model.bin"}, 1};
    Stage table{"table", "table", 1, "", {"tokens"}, {}, {directory_ / "table.bin"}, 1};
    table.replaces_itself = true;
    return {tokens, model, table};
  }
  StageGraph graph() const { return StageGraph(directory_ / "run", stages()); }

  void make(const std::string& name) const {
    const StageGraph now = graph();
    now.begin(name);
    for (const fs::path& output : now.stage(name).outputs) write_file(output, name);
    now.finish(name, 1.5);
  }
  void make_all() const {
    for (const char* name : {"tokens", "model", "table"}) make(name);
  }

  fs::path directory_;
  std::string tokens_config_ = "vocabulary: 10";
  std::string model_config_ = "width: 8";
};

TEST_F(StageGraphTest, NothingIsMadeAtFirst) {
  EXPECT_EQ(graph().state("tokens"), StageState::kStale);
  EXPECT_THAT(graph().missing_inputs("model"), ElementsAre("tokens"));
}

TEST_F(StageGraphTest, FinishedStagesAreSkipped) {
  make_all();
  for (const char* name : {"tokens", "model", "table"})
    EXPECT_EQ(graph().state(name), StageState::kFinished) << name;
  EXPECT_THAT(graph().missing_inputs("model"), IsEmpty());
  EXPECT_DOUBLE_EQ(graph().seconds("model"), 1.5);
}

TEST_F(StageGraphTest, AChangedConfigRemakesTheStageAndWhatReadsIt) {
  make_all();
  tokens_config_ = "vocabulary: 20";
  EXPECT_EQ(graph().state("tokens"), StageState::kStale);
  EXPECT_EQ(graph().state("model"), StageState::kStale);
}

TEST_F(StageGraphTest, AChangedConfigLeavesTheOthersAlone) {
  make_all();
  model_config_ = "width: 16";
  EXPECT_EQ(graph().state("tokens"), StageState::kFinished);
  EXPECT_EQ(graph().state("table"), StageState::kFinished);
  EXPECT_EQ(graph().state("model"), StageState::kStale);
}

TEST_F(StageGraphTest, ChangedInputTextRemakesEverythingAndTouchedTextNothing) {
  make_all();
  fs::last_write_time(directory_ / "text.jsonl",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(graph().state("tokens"), StageState::kFinished);
  write_file(directory_ / "text.jsonl", "two");
  EXPECT_EQ(graph().state("tokens"), StageState::kStale);
}

TEST_F(StageGraphTest, AMissingOutputRemakesItsStage) {
  make_all();
  fs::remove(directory_ / "model.bin");
  EXPECT_EQ(graph().state("model"), StageState::kStale);
}

TEST_F(StageGraphTest, AnInterruptedStageKeepsItsOutputsAndAStaleOneLosesThem) {
  make("tokens");
  const StageGraph first = graph();
  first.begin("model");
  write_file(directory_ / "model.bin", "half");
  EXPECT_EQ(graph().state("model"), StageState::kStarted);
  graph().begin("model");
  EXPECT_TRUE(fs::exists(directory_ / "model.bin"));
  model_config_ = "width: 16";
  graph().begin("model");
  EXPECT_FALSE(fs::exists(directory_ / "model.bin"));
}

TEST_F(StageGraphTest, WhatIsRemovedIsNamedFirst) {
  set_log_quiet(false);  // other tests of this program silence it
  make_all();
  ::testing::internal::CaptureStderr();
  graph().begin("model");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "up to date: nothing is removed";
  make("model");
  model_config_ = "width: 16";
  ::testing::internal::CaptureStderr();
  graph().begin("model");
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      ::testing::HasSubstr((directory_ / "model.bin").string() + " was made from something else"));
}

TEST_F(StageGraphTest, AStaleStageThatReplacesItselfKeepsItsOutputs) {
  make_all();
  tokens_config_ = "vocabulary: 20";
  const StageGraph now = graph();
  now.begin("table");
  EXPECT_TRUE(fs::exists(directory_ / "table.bin"));
  EXPECT_EQ(now.state("table"), StageState::kStarted) << "and is not taken for the new one";
}

TEST_F(StageGraphTest, AMissingInputFileIsNamed) {
  fs::remove(directory_ / "text.jsonl");
  try {
    graph();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("text.jsonl does not exist"));
  }
}

}  // namespace
}  // namespace retro
