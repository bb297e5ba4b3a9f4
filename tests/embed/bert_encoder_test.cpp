#include "bert_encoder.h"

#include <ATen/ops/norm.h>
#include <gmock/gmock.h>

#include "retro/core/error.h"
#include "retro/text/wordpiece_tokenizer.h"

#include "bert_test_support.h"
#include "bert_weights.h"

namespace retro::testing {
namespace {

BertEncoder load_encoder(const std::filesystem::path& directory) {
  const BertConfig config = read_bert_config(directory / "config.json");
  return {config, load_bert_weights(directory / "model.safetensors", config, Precision::kFloat32),
          Precision::kFloat32};
}

/// DATA.md section 1: the model's own recipe (specials in the mean, unit norm) on its fixed
/// sentence.
TEST(BertEncoder, MiniLmsOwnRecipeGivesThePublishedNumbers) {
  if (!std::filesystem::exists(kMiniLm))
    GTEST_SKIP() << kMiniLm << " is not there (tools/setup.sh)";
  const std::vector<int32_t> ids = {101, 1037, 4937, 2938, 2006, 1996, 13523, 1012, 102};
  const auto pieces = WordPieceTokenizer::from_directory(kMiniLm).encode("A cat sat on the mat.");
  EXPECT_THAT(pieces, ::testing::ElementsAreArray(ids.begin() + 1, ids.end() - 1));
  PackedPieces packed;
  for (const int32_t id : ids) packed.append(id);
  packed.end_text();
  at::Tensor mean_Q = load_encoder(kMiniLm).forward(packed).mean(0);
  mean_Q = mean_Q / mean_Q.norm();
  const std::vector<double> expected = {0.12081, -0.02354, -0.03669, 0.05646, -0.06599};
  for (size_t q = 0; q < expected.size(); ++q) {
    EXPECT_NEAR(mean_Q[static_cast<int64_t>(q)].item<double>(), expected[q], 0.6e-5);
  }
}

TEST(BertEncoder, TextsDoNotSeeEachOther) {
  const BertEncoder encoder = load_encoder(kRandomBert);
  const std::vector<std::vector<int32_t>> texts = {{2, 5, 3}, {2, 9, 8, 7, 6, 31, 3}, {2}};
  PackedPieces together;
  for (const auto& text : texts) {
    for (const int32_t id : text) together.append(id);
    together.end_text();
  }
  const at::Tensor hidden_TD = encoder.forward(together);
  for (size_t t = 0; t < texts.size(); ++t) {
    PackedPieces alone;
    for (const int32_t id : texts[t]) alone.append(id);
    alone.end_text();
    const at::Tensor expected = encoder.forward(alone);
    const at::Tensor actual = hidden_TD.slice(0, together.first[t], together.first[t + 1]);
    EXPECT_LT((actual - expected).abs().max().item<float>(), 1e-5F);
  }
}

TEST(BertEncoder, IdsAndLengthsOutsideTheModelAreRefused) {
  const BertEncoder encoder = load_encoder(kRandomBert);
  PackedPieces foreign;
  foreign.append(73);
  foreign.end_text();
  EXPECT_THROW(encoder.forward(foreign), Error);
  PackedPieces long_text;
  for (int i = 0; i < 25; ++i) long_text.append(5);
  long_text.end_text();
  EXPECT_THROW(encoder.forward(long_text), Error);
}

}  // namespace
}  // namespace retro::testing
