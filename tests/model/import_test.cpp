// Imported models against the logits of `transformers` (tools/reference/hugging_face_fixture.py).
#include <filesystem>

#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/model/carried_keys.h"
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

// Where only a key makes it another model.
TEST(ImportRefusals, OptionsThatChangeWhatIsComputed) {
  using ::testing::HasSubstr;
  const auto with = [](const nlohmann::json& changes) {
    return refusal(with_config("llama", changes));
  };
  EXPECT_THAT(with({{"rope_interleaved", true}}), HasSubstr("`rope_interleaved: true`"));
  EXPECT_THAT(with({{"quantization_config", {{"bits", 4}}}}), HasSubstr("`quantization_config"));
  EXPECT_THAT(with({{"layer_types", {"full_attention", "sliding_attention"}}}),
              HasSubstr("`sliding_attention`"));
  EXPECT_THAT(with({{"rope_parameters", {{"rope_type", "default"}, {"twist", 2}}}}),
              HasSubstr("`twist`"));
  EXPECT_THAT(with({{"rope_theta", 5000.0}}), HasSubstr("`rope_theta` is 5000.0 and 10000.0"));
  EXPECT_THAT(refusal(with_config("gpt2", {{"scale_attn_weights", false}})),
              HasSubstr("`scale_attn_weights: false`"));
  EXPECT_EQ(with({{"rope_interleaved", false}, {"quantization_config", nullptr}}), "");
}

// MistralConfig has a window of 4096 where the key is missing; null says that there is none.
TEST(ImportRefusals, AWindowThatTextsReachBeyond) {
  using ::testing::HasSubstr;
  const auto mistral = [](nlohmann::json changes) {
    changes["model_type"] = "mistral";
    return refusal(with_config("llama", changes));
  };
  EXPECT_THAT(mistral({{"max_position_embeddings", 32768}}),
              HasSubstr("`sliding_window` is 4096 (a Mistral's where the key is missing)"));
  EXPECT_EQ(mistral({{"max_position_embeddings", 32768}, {"sliding_window", nullptr}}), "");
  EXPECT_EQ(mistral({{"max_position_embeddings", 4096}}), "");
  EXPECT_EQ(mistral({{"max_position_embeddings", 64}, {"sliding_window", 64}}), "");
}

// A file must not make us take memory that its tensors cannot fill.
TEST(ImportRefusals, SizesThatNoTensorHas) {
  using ::testing::HasSubstr;
  for (const char* key : {"num_hidden_layers", "vocab_size", "hidden_size", "intermediate_size",
                          "num_attention_heads", "head_dim", "num_key_value_heads"}) {
    for (const int64_t size :
         {int64_t{1'000'000'000}, int64_t{100'000'000'000}, int64_t{0}, int64_t{-1}}) {
      const std::string text = refusal(with_config("llama", {{key, size}}));
      EXPECT_NE(text, "") << key << " " << size;
      EXPECT_THAT(text, ::testing::Not(HasSubstr("\n"))) << key << " " << size;
    }
  }
  EXPECT_THAT(refusal(with_config("llama", {{"num_hidden_layers", 1'000'000'000}})),
              HasSubstr("1000000000 layers"));
  EXPECT_THAT(refusal(with_config("llama", {{"vocab_size", 1'000'000'000}})),
              HasSubstr("describes at least"));
  EXPECT_THAT(refusal(with_config("gpt2", {{"n_positions", 1'000'000'000}})),
              HasSubstr("describes at least"));
}

TEST(ImportOptions, UnknownKeysAreNamedInOneWarning) {
  ::testing::internal::CaptureStderr();
  const fs::path known = with_config("llama", nlohmann::json::object());
  (void)import_hugging_face(known);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  (void)import_hugging_face(with_config("llama", {{"twist", 1}, {"turn", {{"a", 2}}}}));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("account: turn, twist"));
}

TEST(ImportOptions, TheRotaryBaseMayStandBesideTheRest) {
  const auto base_with = [](const nlohmann::json& changes) {
    return import_hugging_face(with_config("llama", changes))->config().block.rotary.base;
  };
  EXPECT_EQ(base_with({{"rope_parameters", {{"rope_type", "default"}}}, {"rope_theta", 5e5}}), 5e5);
  EXPECT_EQ(base_with({{"rope_parameters", nullptr}, {"rope_theta", 5e5}}), 5e5);
  EXPECT_EQ(base_with({{"rope_parameters", nullptr},
                       {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
                       {"rope_theta", 5e5}}),
            5e5);
}

/// config.json as an export writes it.
nlohmann::json exported(const std::string& name, const std::string& carried) {
  const fs::path out = scratch("exported");
  export_hugging_face(import_hugging_face(fixture(name)), out, carried);
  return read_json_file(out / "config.json");
}

// `transformers` 4 knows no `rope_parameters`: without the older keys it takes a base of 10000, no
// scaling, and says nothing.
TEST(Export, RotaryPositionsStandInBothForms) {
  const auto plain = exported("llama_tied", "");
  EXPECT_EQ(plain.at("rope_theta"), 5000.0);
  EXPECT_TRUE(plain.at("rope_scaling").is_null());
  EXPECT_EQ(plain.at("rope_parameters"),
            nlohmann::json({{"rope_theta", 5000.0}, {"rope_type", "default"}}));
  const auto stretched = exported("llama_llama3", "");
  const nlohmann::json scaling = {{"rope_type", "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 32}};
  EXPECT_EQ(stretched.at("rope_theta"), 5000.0);
  EXPECT_EQ(stretched.at("rope_scaling"), scaling);
  nlohmann::json parameters = scaling;
  parameters["rope_theta"] = 5000.0;
  EXPECT_EQ(stretched.at("rope_parameters"), parameters);
}

// LlamaConfig's own defaults are the tokens 1 and 2 and 2048 positions.
TEST(Export, WhatTheBaseSaidOfTokensAndPositionsIsSaidAgain) {
  const auto unknown = exported("llama", "");
  EXPECT_TRUE(unknown.at("bos_token_id").is_null());
  EXPECT_TRUE(unknown.at("eos_token_id").is_null());
  EXPECT_FALSE(unknown.contains("max_position_embeddings"));
  const fs::path base = with_config("llama", {{"bos_token_id", 3}, {"eos_token_id", {4, 5}}});
  const auto carried = exported("llama", carried_keys(base));
  EXPECT_EQ(carried.at("bos_token_id"), 3);
  EXPECT_EQ(carried.at("eos_token_id"), nlohmann::json({4, 5}));
  EXPECT_EQ(carried.at("max_position_embeddings"), 64);
  // The stretched limit would be 256; the base's own is kept.
  EXPECT_EQ(
      exported("llama_llama3", carried_keys(fixture("llama_llama3"))).at("max_position_embeddings"),
      64);
  const auto gpt2 = exported("gpt2", R"({"eos_token_id": 7, "max_position_embeddings": 9})");
  EXPECT_EQ(gpt2.at("eos_token_id"), 7);
  EXPECT_EQ(gpt2.at("n_positions"), 48);
  EXPECT_FALSE(gpt2.contains("max_position_embeddings"));
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
