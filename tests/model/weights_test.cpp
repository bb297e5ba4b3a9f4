#include "retro/model/weights.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/safetensors.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

using ::testing::HasSubstr;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / fmt::format("retro_weights_{}", getpid());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path path_of(const char* name) const { return directory_ / name; }

  /// Saves the model with its tensors changed by `edit`.
  template <class Edit>
  std::filesystem::path edited(const Edit& edit) const {
    save_weights(model_, path_of("whole.safetensors"));
    const SafetensorsReader reader(path_of("whole.safetensors"));
    std::map<std::string, TensorView> tensors = reader.tensors();
    edit(tensors);
    write_safetensors(path_of("edited.safetensors"), tensors, reader.metadata());
    return path_of("edited.safetensors");
  }

  std::string load_error(const std::filesystem::path& path) const {
    RetroModel model(small_config(), 2);
    try {
      load_weights(model, path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path directory_;
  RetroModel model_{small_config(), 1};
};

void expect_equal_weights(const RetroModel& a, const RetroModel& b) {
  ASSERT_EQ(a->named_parameters().size(), b->named_parameters().size());
  for (const auto& item : a->named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), b->named_parameters()[item.key()])) << item.key();
  }
}

TEST_F(Weights, RoundTripIsExact) {
  save_weights(model_, path_of("model.safetensors"), {{"step", "7"}});
  RetroModel other(small_config(), 2);
  load_weights(other, path_of("model.safetensors"));
  expect_equal_weights(model_, other);
  EXPECT_EQ(SafetensorsReader(path_of("model.safetensors")).metadata().at("step"), "7");
}

TEST_F(Weights, FileKnowsItsConfig) {
  save_weights(model_, path_of("model.safetensors"));
  const RetroModel loaded = load_model(path_of("model.safetensors"));
  expect_equal_weights(model_, loaded);
  EXPECT_EQ(loaded->config().cca_layers, small_config().cca_layers);
  EXPECT_EQ(loaded->config().encoder.feed_forward, 18);
}

TEST_F(Weights, FileHoldsExactlyTheParameters) {
  ModelConfig config = small_config();
  config.tie_output = config.share_embeddings = true;
  config.encoder.width = config.width;
  const RetroModel model(config, 1);
  save_weights(model, path_of("model.safetensors"));
  const SafetensorsReader reader(path_of("model.safetensors"));
  EXPECT_EQ(reader.tensors().size(), model->named_parameters().size());
  EXPECT_FALSE(reader.contains("decoder.output.weight"));
  EXPECT_FALSE(reader.contains("encoder.embed.weight"));
  expect_equal_weights(model, load_model(path_of("model.safetensors")));
}

TEST_F(Weights, MissingTensorIsNamed) {
  const auto path =
      edited([](auto& tensors) { tensors.erase("decoder.layers.2.feed_forward.up.weight"); });
  EXPECT_THAT(load_error(path), HasSubstr("decoder.layers.2.feed_forward.up.weight"));
}

TEST_F(Weights, UnknownTensorIsNamed) {
  const auto path =
      edited([](auto& tensors) { tensors["decoder.surprise"] = tensors["decoder.norm.weight"]; });
  EXPECT_THAT(load_error(path), HasSubstr("decoder.surprise"));
}

TEST_F(Weights, OtherShapeIsNamed) {
  const auto path = edited([](auto& tensors) { tensors["decoder.norm.weight"].shape = {4, 4}; });
  EXPECT_THAT(load_error(path), HasSubstr("decoder.norm.weight"));
  EXPECT_THAT(load_error(path), HasSubstr("[4, 4]"));
}

/// A refused file leaves the model as it was.
TEST_F(Weights, RefusedFileChangesNothing) {
  const auto path = edited([](auto& tensors) { tensors.erase("encoder.norm.weight"); });
  RetroModel model(small_config(), 2);
  EXPECT_THROW(load_weights(model, path), Error);
  expect_equal_weights(model, RetroModel(small_config(), 2));
}

TEST_F(Weights, ForeignFileIsRefused) {
  save_weights(model_, path_of("model.safetensors"));
  const SafetensorsReader reader(path_of("model.safetensors"));
  write_safetensors(path_of("foreign.safetensors"), reader.tensors());
  EXPECT_THROW(load_model(path_of("foreign.safetensors")), Error);
}

}  // namespace
}  // namespace retro::testing
