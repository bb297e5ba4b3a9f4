#include "retro/run/fit_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/model/weights.h"
#include "retro/run/run_config.h"
#include "retro/run/stages.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A base of seven layers beside a run's configuration.
class FitConfigTest : public ::testing::Test {
 protected:
  FitConfigTest() : directory_(fs::temp_directory_path() / "retro_fit_config_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "base");
    base_.vocabulary = 50;
    base_.width = 16;
    base_.layers = 7;
    base_.heads = 2;
    base_.head_width = 8;
    base_.cca_layers.clear();
    save_weights(RetroModel(base_, 1), directory_ / "base" / "model.safetensors");
    write_file(directory_ / "base" / "tokenizer.json", "{}");
    write_file(directory_ / "a.jsonl", "{\"text\":\"words\"}\n");
    write_file(directory_ / "run.yaml",
               "directory: " + (directory_ / "out").string() +
                   "\nfit: {base: " + (directory_ / "base").string() +
                   "}\ncorpus: {sources: [{name: a, path: " + (directory_ / "a.jsonl").string() +
                   "}]}\nembed: {model: \"hashed:8\"}\ntrain: {steps: 1000}\n");
  }
  ~FitConfigTest() override { fs::remove_all(directory_); }

  RunConfig load(const std::vector<std::string>& overrides = {}) const {
    return load_run_config(directory_ / "run.yaml", overrides);
  }
  std::string refusal(const std::vector<std::string>& overrides) const {
    try {
      (void)load(overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  fs::path directory_;
  ModelConfig base_;
};

TEST_F(FitConfigTest, TheBaseBringsShapeAndTokenizer) {
  const RunConfig config = load();
  EXPECT_EQ(config.model.width, 16);
  EXPECT_EQ(config.model.layers, 7);
  EXPECT_EQ(config.model.vocabulary, 50);
  EXPECT_EQ(config.model.cca_layers, (std::vector<int64_t>{5}));
  EXPECT_EQ(config.model.encoder.width, 16);
  EXPECT_TRUE(config.model.share_embeddings);
  EXPECT_EQ(config.tokenizer.path, (directory_ / "base" / "tokenizer.json").string());
}

TEST_F(FitConfigTest, ItsOwnKeysDecideTheNewParts) {
  const RunConfig config =
      load({"fit.cca_layers=[2, 4]", "fit.encoder.layers=1", "fit.share_embeddings=false"});
  EXPECT_EQ(config.model.cca_layers, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(config.model.encoder.layers, 1);
  EXPECT_FALSE(config.model.share_embeddings);
}

TEST_F(FitConfigTest, KeysThatWouldBeIgnoredAreRefused) {
  EXPECT_THAT(refusal({"model.cca_layers=[3]"}),
              AllOf(HasSubstr("model.cca_layers is [3]"), HasSubstr("fit.cca_layers")));
  EXPECT_THAT(refusal({"model.encoder.layers=1"}),
              AllOf(HasSubstr("model.encoder.layers is 1"), HasSubstr("fit.encoder.layers")));
  EXPECT_THAT(refusal({"fit.share_embeddings=false", "model.share_embeddings=true"}),
              HasSubstr("fit.share_embeddings"));
  EXPECT_THAT(refusal({"model.block.positions=rotary"}),
              AllOf(HasSubstr("model.block.positions is rotary"), HasSubstr("has relative")));
  EXPECT_THAT(refusal({"model.tie_output=true"}), HasSubstr("model.tie_output is true"));
  // What agrees is no contradiction, and what is new is the run's to say.
  EXPECT_EQ(refusal({"model.cca_layers=[5]", "model.encoder.width=16", "model.width=16"}), "");
  EXPECT_EQ(refusal({"model.init_std=0", "model.dropout=0.1", "model.cca_scheme=rotary"}), "");
}

// The baseline column is the base as it was trained: one mask for both, or the difference between
// them would not be retrieval.
TEST_F(FitConfigTest, TheBaseDecidesWhatItAttendsTo) {
  EXPECT_THAT(refusal({"model.attend_across_documents=false"}),
              HasSubstr("model.attend_across_documents is false"));
  base_.attend_across_documents = false;
  save_weights(RetroModel(base_, 1), directory_ / "base" / "model.safetensors");
  EXPECT_FALSE(load().model.attend_across_documents);
}

// The run directory's own file holds the whole shape, as an earlier fit section made it.
TEST_F(FitConfigTest, ARunDirectoryTakesAnotherFitSection) {
  const RunConfig before = load({"fit.cca_layers=[2, 4]", "model.dropout=0.25"});
  fs::create_directories(before.directory);
  write_file(fs::path(before.directory) / "config.yaml", to_yaml(before));
  const RunConfig after = load_run_config(before.directory, {"fit.cca_layers=[3]"});
  EXPECT_EQ(after.model.cca_layers, (std::vector<int64_t>{3}));
  EXPECT_EQ(after.model.dropout, 0.25);
  EXPECT_EQ(load_run_config(before.directory, {}).model.cca_layers, before.model.cca_layers);
}

TEST_F(FitConfigTest, FitReplacesTheTrainings) {
  std::vector<std::string> names;
  for (const Stage& stage : list_stages(load())) names.push_back(stage.name);
  EXPECT_THAT(names, ::testing::Contains("fit"));
  EXPECT_THAT(names, ::testing::Contains("passes.baseline"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("train.retro")));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("train.baseline")));
}

TEST_F(FitConfigTest, ContradictionsAndMissingBasesAreNamed) {
  EXPECT_THAT(refusal({"model.width=32"}), HasSubstr("model.width is 32"));
  EXPECT_THAT(refusal({"fit.base=/nowhere"}), HasSubstr("/nowhere"));
  EXPECT_THAT(refusal({"fit.base=" + directory_.string()}), HasSubstr("retro import"));
  EXPECT_THAT(refusal({"fit.cca_layers=[7]"}), HasSubstr("layer 7"));
  fs::remove(directory_ / "base" / "tokenizer.json");
  EXPECT_THAT(refusal({}), HasSubstr("tokenizer.path"));
}

}  // namespace
}  // namespace retro
