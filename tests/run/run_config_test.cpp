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

TEST_F(RunConfigTest, AMissingFileIsNamed) {
  EXPECT_THROW(load_run_config(directory_ / "none.yaml", {}), Error);
}

}  // namespace
}  // namespace retro
