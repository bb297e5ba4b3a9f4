// Imported models against the logits of `transformers` (tools/reference/hugging_face_fixture.py).
#include <filesystem>

#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/model/hugging_face.h"
#include "retro/model/weights.h"

#include "model_test_support.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

fs::path fixture(const std::string& name) {
  return fs::path(RETRO_TEST_DATA) / "hugging_face" / name;
}

fs::path scratch(const std::string& name) {
  const fs::path path = fs::path(::testing::TempDir()) / ("retro_import_" + name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

struct Expected {
  explicit Expected(const std::string& name) {
    const SafetensorsReader reader(fixture(name) / "expected.safetensors");
    const TensorView& view = reader.tensor("ids");
    input.tokens_BN = torch::tensor(to_int64(view), torch::kLong).view(view.shape);
    logits_BNV =
        torch::tensor(to_float32(reader.tensor("logits"))).view(reader.tensor("logits").shape);
  }
  ModelInput input;
  torch::Tensor logits_BNV;
};

class Import : public ::testing::TestWithParam<std::string> {};

TEST_P(Import, LogitsAgree) {
  const Expected expected(GetParam());
  RetroModel model = import_hugging_face(fixture(GetParam()));
  EXPECT_TRUE(model->config().cca_layers.empty());
  const torch::NoGradGuard no_gradients;
  EXPECT_LE(largest_difference(model->logits(expected.input), expected.logits_BNV), 1e-4);
}

/// A lead chunk's masked positions shift nothing.
TEST_P(Import, MaskedPositionsBeforeTheTextChangeNothing) {
  const Expected expected(GetParam());
  RetroModel model = import_hugging_face(fixture(GetParam()));
  ModelInput shifted;
  const torch::Tensor lead = torch::full({2, 7}, 5, torch::kLong);
  shifted.tokens_BN = torch::cat({lead, expected.input.tokens_BN}, 1);
  shifted.real_BN = torch::cat({lead.ne(5), expected.input.tokens_BN.ge(0)}, 1);
  const torch::NoGradGuard no_gradients;
  EXPECT_LE(largest_difference(model->logits(shifted).slice(1, 7), expected.logits_BNV), 1e-4);
}

TEST_P(Import, ExportGivesTheSameTensorsBack) {
  const fs::path out = scratch("export_" + GetParam());
  export_hugging_face(import_hugging_face(fixture(GetParam())), out);
  const SafetensorsReader written(out / "model.safetensors");
  const auto again = import_hugging_face(out);
  const Expected expected(GetParam());
  RetroModel model = again;
  const torch::NoGradGuard no_gradients;
  EXPECT_LE(largest_difference(model->logits(expected.input), expected.logits_BNV), 1e-4);
  if (fs::exists(fixture(GetParam()) / "model.safetensors")) {
    const SafetensorsReader original(fixture(GetParam()) / "model.safetensors");
    ASSERT_EQ(written.tensors().size(), original.tensors().size());
    for (const auto& [name, view] : original.tensors())
      EXPECT_EQ(to_float32(written.tensor(name)), to_float32(view)) << name;
  }
}

TEST_P(Import, ACheckpointOfItLoadsAgain) {
  const fs::path path = scratch("checkpoint_" + GetParam()) / "model.safetensors";
  const Expected expected(GetParam());
  RetroModel model = import_hugging_face(fixture(GetParam()));
  save_weights(model, path);
  RetroModel loaded = load_model(path);
  const torch::NoGradGuard no_gradients;
  EXPECT_TRUE(torch::equal(model->logits(expected.input), loaded->logits(expected.input)));
}

INSTANTIATE_TEST_SUITE_P(Models, Import,
                         ::testing::Values("llama", "llama_tied", "llama_bias", "llama_linear",
                                           "llama_llama3", "llama_yarn", "llama_shards", "gpt2"),
                         [](const auto& instance) { return instance.param; });

/// The fixture copied, one key of its config.json changed.
fs::path with_config(const std::string& name, const nlohmann::json& changes) {
  const fs::path out = scratch("changed");
  fs::copy(fixture(name), out, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  nlohmann::json config = read_json_file(out / "config.json");
  config.update(changes);
  write_json_file(out / "config.json", config);
  return out;
}

std::string refusal(const fs::path& directory) {
  try {
    (void)import_hugging_face(directory);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ImportRefusals, NameWhatIsWrong) {
  using ::testing::HasSubstr;
  const auto with = [](const nlohmann::json& changes) {
    return refusal(with_config("llama", changes));
  };
  EXPECT_THAT(with({{"model_type", "falcon"}}), HasSubstr("`falcon`"));
  EXPECT_THAT(with({{"hidden_act", "relu"}}), HasSubstr("`relu`"));
  EXPECT_THAT(with({{"sliding_window", 16}}), HasSubstr("sliding_window"));
  EXPECT_THAT(with({{"vocab_size", 97}}), HasSubstr("embed_tokens.weight` has shape [96, 24]"));
  EXPECT_THAT(with({{"num_hidden_layers", 1}}), HasSubstr("model.layers.1."));
  EXPECT_THAT(with({{"num_hidden_layers", 3}}), HasSubstr("model.layers.2."));
  EXPECT_THAT(with({{"attention_bias", true}}), HasSubstr("mlp_bias"));
  EXPECT_THAT(with({{"rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}}}}),
              HasSubstr("`dynamic`"));
}

TEST(ImportRefusals, AMissingShardIsNamed) {
  const fs::path out = scratch("shard");
  fs::copy(fixture("llama_shards"), out,
           fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  fs::remove(out / "model-00003-of-00005.safetensors");
  EXPECT_THAT(refusal(out), ::testing::HasSubstr("model-00003-of-00005.safetensors"));
}

TEST(ImportRefusals, ANativeDecoderHasNoArchitecture) {
  EXPECT_THROW(export_hugging_face(RetroModel(small_config(), 1), scratch("native")), Error);
}

}  // namespace
}  // namespace retro::testing
