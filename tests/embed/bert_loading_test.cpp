// Directories that are no BERT, or one of another layout.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/random.h"
#include "retro/embed/bert_embedder.h"

#include "bert_test_support.h"

namespace retro::testing {
namespace {

using ::testing::HasSubstr;

/// A copy of the random BERT that a test may damage.
class BertLoading : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / fmt::format("retro_bert_loading_{}", getpid());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    std::filesystem::copy(kRandomBert, directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void replace_in_config(const std::string& from, const std::string& to) const {
    std::string text = read_file(directory_ / "config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    write_file(directory_ / "config.json", text);
  }

  /// Rewrites the weights with names passed through `rename`; an empty name drops the tensor.
  template <class Rename>
  void rename_tensors(const Rename& rename) const {
    const SafetensorsReader reader(kRandomBert / "model.safetensors");
    std::map<std::string, TensorView> tensors;
    for (const auto& [name, tensor] : reader.tensors()) {
      const std::string renamed = rename(name);
      if (!renamed.empty()) tensors[renamed] = tensor;
    }
    write_safetensors(directory_ / "model.safetensors", tensors);
  }

  std::string error() const {
    try {
      BertEmbedder embedder(directory_, float32_config());
    } catch (const Error& caught) {
      return caught.what();
    }
    return "";
  }

  std::filesystem::path directory_;
};

TEST_F(BertLoading, MissingFilesAreNamed) {
  for (const char* name : {"config.json", "model.safetensors", "vocab.txt"}) {
    std::filesystem::rename(directory_ / name, directory_ / "elsewhere");
    EXPECT_THAT(error(), HasSubstr(name));
    std::filesystem::rename(directory_ / "elsewhere", directory_ / name);
  }
  EXPECT_EQ(error(), "");
}

TEST_F(BertLoading, OtherArchitecturesAreRefused) {
  replace_in_config("\"model_type\": \"bert\"", "\"model_type\": \"mpnet\"");
  EXPECT_THAT(error(), HasSubstr("mpnet"));
}

TEST_F(BertLoading, OtherActivationsAreRefused) {
  replace_in_config("\"hidden_act\": \"gelu\"", "\"hidden_act\": \"relu\"");
  EXPECT_THAT(error(), HasSubstr("relu"));
}

TEST_F(BertLoading, OtherPositionsAreRefused) {
  replace_in_config("\"absolute\"", "\"relative_key\"");
  EXPECT_THAT(error(), HasSubstr("relative_key"));
}

TEST_F(BertLoading, ShapesThatDoNotFitAreNamed) {
  replace_in_config("\"intermediate_size\": 52", "\"intermediate_size\": 51");
  EXPECT_THAT(error(), HasSubstr("bert.encoder.layer.0.intermediate.dense.weight"));
  EXPECT_THAT(error(), HasSubstr("[52, 44]"));
}

TEST_F(BertLoading, HeadsThatDoNotDivideTheWidthAreRefused) {
  replace_in_config("\"num_attention_heads\": 4", "\"num_attention_heads\": 5");
  EXPECT_THAT(error(), HasSubstr("num_attention_heads"));
}

TEST_F(BertLoading, VocabularyOfAnotherModelIsRefused) {
  write_file(directory_ / "vocab.txt", read_file(directory_ / "vocab.txt") + "more\n");
  EXPECT_THAT(error(), HasSubstr("74"));
}

TEST_F(BertLoading, MissingTensorIsNamed) {
  rename_tensors([](const std::string& name) {
    return name == "bert.encoder.layer.1.output.dense.bias" ? "" : name;
  });
  EXPECT_THAT(error(), HasSubstr("bert.encoder.layer.1.output.dense.bias"));
}

/// The names of MiniLM (no prefix) and those of the oldest checkpoints (gamma, beta).
TEST_F(BertLoading, OtherNamesGiveTheSameKeys) {
  const auto expect_same_keys = [&] {
    BertEmbedder original(kRandomBert, float32_config());
    BertEmbedder renamed(directory_, float32_config());
    EXPECT_EQ(embed_all(original, {"the cat"}).keys_TQ, embed_all(renamed, {"the cat"}).keys_TQ);
  };
  rename_tensors([](const std::string& name) { return name.substr(std::string("bert.").size()); });
  expect_same_keys();
  rename_tensors([](std::string name) {
    const size_t at = name.find("LayerNorm.");
    if (at == std::string::npos) return name;
    return name.substr(0, at) + (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
  });
  expect_same_keys();
}

TEST_F(BertLoading, IdentityFollowsEveryFile) {
  const std::string before = BertEmbedder(directory_, float32_config()).identity();
  replace_in_config("1e-05", "1e-06");
  EXPECT_NE(BertEmbedder(directory_, float32_config()).identity(), before);
}

/// The paper's BERT-base is 12 x 768; its shape with two layers, a short vocabulary and random
/// weights.
TEST_F(BertLoading, BertBaseShapeLoads) {
  const int64_t width = 768;
  const int64_t feed_forward = 3072;
  std::map<std::string, std::vector<int64_t>> shapes = {
      {"bert.embeddings.word_embeddings.weight", {73, width}},
      {"bert.embeddings.position_embeddings.weight", {512, width}},
      {"bert.embeddings.token_type_embeddings.weight", {2, width}},
      {"bert.embeddings.LayerNorm.weight", {width}},
      {"bert.embeddings.LayerNorm.bias", {width}}};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = fmt::format("bert.encoder.layer.{}.", layer);
    for (const char* square : {"attention.self.query", "attention.self.key", "attention.self.value",
                               "attention.output.dense"}) {
      shapes[name + square + ".weight"] = {width, width};
      shapes[name + square + ".bias"] = {width};
    }
    shapes[name + "intermediate.dense.weight"] = {feed_forward, width};
    shapes[name + "intermediate.dense.bias"] = {feed_forward};
    shapes[name + "output.dense.weight"] = {width, feed_forward};
    shapes[name + "output.dense.bias"] = {width};
    for (const char* norm : {"attention.output.LayerNorm", "output.LayerNorm"}) {
      shapes[name + norm + ".weight"] = {width};
      shapes[name + norm + ".bias"] = {width};
    }
  }
  std::vector<float> noise(static_cast<size_t>(width * feed_forward));
  RandomStream random(1, "noise");
  for (float& value : noise) value = 0.1F * static_cast<float>(random.uniform()) - 0.05F;
  std::map<std::string, TensorView> tensors;
  for (const auto& [name, shape] : shapes) {
    TensorView view{"F32", shape, {}};
    view.bytes =
        std::as_bytes(std::span(noise)).first(static_cast<size_t>(view.num_elements()) * 4);
    tensors[name] = view;
  }
  write_safetensors(directory_ / "model.safetensors", tensors);
  write_file(directory_ / "config.json",
             R"({"model_type": "bert", "vocab_size": 73, "hidden_size": 768, "num_hidden_layers": 2,
                 "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512})");
  BertEmbedder embedder(directory_, float32_config());
  ASSERT_EQ(embedder.key_width(), width);
  const Embedded result = embed_all(embedder, {"the cat sat", "on the mat"});
  EXPECT_GT(relative_difference(key(result.keys_TQ, width, 0), key(result.keys_TQ, width, 1)),
            1e-3);
  for (const float value : result.keys_TQ) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace retro::testing
