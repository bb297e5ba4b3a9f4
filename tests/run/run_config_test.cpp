#include "retro/run/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/ops/device.h"
#include "retro/run/whole_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunConfigTest : public ::testing::Test {
 protected:
  RunConfigTest() : directory_(fs::temp_directory_path() / "retro_run_config_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    write_file(directory_ / "run.yaml",
               "directory: out\ndependencies: deps\n"
               "corpus: {sources: [{name: a, path: \"{dependencies}/a.jsonl\"}]}\n"
               "embed: {model: \"hashed:8\"}\ntrain: {steps: 1000}\n");
  }
  ~RunConfigTest() override { fs::remove_all(directory_); }

  RunConfig load(const std::vector<std::string>& overrides = {}) const {
    return load_run_config(directory_ / "run.yaml", overrides);
  }
  std::string message(const std::vector<std::string>& overrides) const {
    try {
      load(overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  fs::path directory_;
};

TEST_F(RunConfigTest, PathsAreAbsoluteAndNameTheDependencies) {
  const RunConfig config = load();
  const fs::path here = fs::current_path();
  EXPECT_EQ(config.directory, (here / "out").string());
  EXPECT_EQ(config.corpus.sources[0].path, (here / "deps" / "a.jsonl").string());
  EXPECT_EQ(config.embed.model, "hashed:8");
}

TEST_F(RunConfigTest, OverridesWin) { EXPECT_EQ(load({"train.steps=2000"}).train.steps, 2000); }

TEST_F(RunConfigTest, ARunDirectoryIsReadByItsOwnConfig) {
  fs::create_directories(directory_ / "run");
  fs::copy_file(directory_ / "run.yaml", directory_ / "run" / "config.yaml");
  EXPECT_EQ(load_run_config(directory_ / "run", {}).train.steps, 1000);
}

TEST_F(RunConfigTest, ADeviceThatTheBuildHasNotIsOneLine) {
  EXPECT_EQ(load().device, "cpu");
  EXPECT_THAT(message({"device=gpu"}), HasSubstr("device"));
  if (built_devices() != "cpu") GTEST_SKIP() << "this build has CUDA";
  try {
    execute_run(load({"device=cuda"}));
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("built without CUDA"));
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(fs::path(load().directory))) << "nothing may have been begun";
}

TEST_F(RunConfigTest, ContradictionsNameTheirKeys) {
  EXPECT_THAT(message({"database.chunk_length=32"}), HasSubstr("database.chunk_length is 32"));
  EXPECT_THAT(message({"neighbours.count=4"}), HasSubstr("neighbours.count is 4"));
  EXPECT_THAT(message({"train.sequence_length=100"}), HasSubstr("train.sequence_length is 100"));
  EXPECT_THAT(message({"corpus.sources=[]"}), HasSubstr("corpus.sources is empty"));
  EXPECT_THAT(message({"train.stpes=3"}), HasSubstr("did you mean `train.steps`"));
}

// Evaluation and sampling come hours after the start.
TEST_F(RunConfigTest, WhatWouldFailAfterTrainingIsRefusedBefore) {
  EXPECT_THAT(message({"eval.shifts=[0, 64]"}), HasSubstr("eval.shifts: 64"));
  EXPECT_THAT(message({"eval.controls=[randon]"}), HasSubstr("eval.controls: `randon`"));
  EXPECT_THAT(message({"eval.sequence_length=100"}), HasSubstr("eval.sequence_length is 100"));
  EXPECT_THAT(message({"eval.windows=[0.875]"}), HasSubstr("smallest length is 512 tokens"));
  EXPECT_THAT(message({"sample.top_p=0"}), HasSubstr("sample.top_p is 0"));
  EXPECT_THAT(message({"knn.enabled=true", "knn.batch_size=0"}), HasSubstr("knn.batch_size"));
  EXPECT_THAT(message({"qa.questions=q.jsonl", "qa.passages=0"}), HasSubstr("qa.passages is 0"));
  EXPECT_THAT(message({"qa.passages=0"}), HasSubstr("no error")) << "nobody asks anything";
}

// A window is read in whole chunks, and sampling moves on by half of them.
TEST_F(RunConfigTest, ATooShortWindowOfSamplingNamesTheKeyThatWasSet) {
  const std::string text = message({"train.sequence_length=64"});
  EXPECT_THAT(text, HasSubstr("train.sequence_length is 64"));
  EXPECT_THAT(text, HasSubstr("at least 128: set sample.sequence_length"));
  EXPECT_EQ(message({"train.sequence_length=64", "sample.sequence_length=128"}), "no error");
  EXPECT_THAT(message({"sample.sequence_length=100"}), HasSubstr("sample.sequence_length is 100"));
}

TEST_F(RunConfigTest, NoWindowIsLongerThanLearnedPositions) {
  const std::vector<std::string> learned = {"model.block.positions=learned",
                                            "model.block.max_positions=300"};
  const auto with = [&](const std::string& assignment) {
    std::vector<std::string> all = learned;
    all.push_back(assignment);
    return message(all);
  };
  EXPECT_EQ(message(learned), "no error");
  EXPECT_THAT(with("train.sequence_length=320"),
              ::testing::AllOf(HasSubstr("train.sequence_length is 320"), HasSubstr("300 learned"),
                               HasSubstr("at most 256")));
  EXPECT_THAT(with("eval.sequence_length=320"), HasSubstr("eval.sequence_length is 320"));
  EXPECT_THAT(with("sample.sequence_length=320"), HasSubstr("sample.sequence_length is 320"));
}

TEST_F(RunConfigTest, AMistypedSourceOfTrainingIsRefusedBeforeAnythingIsMade) {
  const std::string name = load().corpus.sources[0].name;
  EXPECT_EQ(message({"train.sources={" + name + ": 1}"}), "no error");
  EXPECT_THAT(message({"train.sources={" + name + "x: 1}"}),
              HasSubstr("train.sources." + name + "x: corpus.sources has no such name"));
}

// It is planned, and its database built.
TEST_F(RunConfigTest, WithoutTextToTrainOnNothingIsAskedOfTraining) {
  EXPECT_THAT(message({"train.steps=0"}), HasSubstr("train.steps is 0"));
  EXPECT_EQ(message({"train.steps=0", "corpus.sources.0.kind=database"}), "no error");
  EXPECT_FALSE(has_training_text(load({"corpus.sources.0.kind=database"})));
}

TEST_F(RunConfigTest, AnOptionalSourceIsLeftOutWhereItsPathIsMissing) {
  const std::string sources = "corpus.sources=[{name: a, path: a.jsonl}, {name: b, path: " +
                              (directory_ / "b.jsonl").string() + ", optional: true}]";
  const std::vector<std::string> overrides = {sources, "train.sources={a: 0.7, b: 0.3}"};
  const RunConfig without = load(overrides);
  ASSERT_EQ(without.corpus.sources.size(), 1U);
  EXPECT_EQ(without.corpus.sources[0].name, "a");
  EXPECT_EQ(without.train.sources, (std::map<std::string, double>{{"a", 0.7}}));
  write_file(directory_ / "b.jsonl", "");
  EXPECT_EQ(load(overrides).corpus.sources.size(), 2U);
  EXPECT_EQ(load(overrides).train.sources.size(), 2U);
}

TEST_F(RunConfigTest, AMissingFileIsNamed) {
  EXPECT_THROW(load_run_config(directory_ / "none.yaml", {}), Error);
}

}  // namespace
}  // namespace retro
