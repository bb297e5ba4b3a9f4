// SmolLM2-135M against `transformers` on the dequantised weights: the figures of
// tools/reference/smollm2_oracle.py. Skipped where set-up fetched no weights.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numbers>
#include <optional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/generate/cached_decoder.h"
#include "retro/model/gguf_import.h"
#include "retro/text/tokenizer.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

const fs::path kDependencies = RETRO_DEPS_DIR;
const fs::path kWeights = kDependencies / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf";
const fs::path kWiki = kDependencies / "text" / "wiki.jsonl";
constexpr int64_t kParagraphLength = 96;
constexpr int64_t kArticleStep = 100;

std::vector<std::string> wiki_texts() {
  std::vector<std::string> texts;
  std::ifstream file(kWiki);
  for (std::string line; std::getline(file, line);)
    texts.push_back(nlohmann::json::parse(line).at("text").get<std::string>());
  return texts;
}

/// Nats of each token of `ids` after its first.
at::Tensor next_losses(const at::Tensor& logits_NV, const std::vector<int32_t>& ids) {
  const at::Tensor targets = at::tensor(at::ArrayRef<int32_t>(ids), at::kInt).to(at::kLong);
  return at::log_softmax(logits_NV.slice(0, 0, -1), 1)
      .gather(1, targets.slice(0, 1).unsqueeze(1))
      .squeeze(1)
      .neg();
}

class SmolLm2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kWeights)) GTEST_SKIP() << kWeights << " is not there (tools/setup.sh --llm)";
    if (model_) return;
    model_ = import_gguf(kWeights);
    model_->eval();
    tokenizer_ = load_tokenizer(kWeights, "");
    texts_ = wiki_texts();
  }
  static void TearDownTestSuite() {
    model_ = RetroModel(nullptr);
    tokenizer_.reset();
    texts_.clear();
  }

  at::Tensor integers(const std::string& name) const {
    return at::tensor(to_int64(oracle_.tensor(name)), at::kLong).view(oracle_.tensor(name).shape);
  }
  at::Tensor floats(const std::string& name) const {
    return at::tensor(to_float64(oracle_.tensor(name)), at::kDouble)
        .view(oracle_.tensor(name).shape);
  }
  /// [N, V].
  static at::Tensor logits(const std::vector<int32_t>& ids) {
    ModelInput input;
    input.tokens_BN = at::tensor(at::ArrayRef<int32_t>(ids), at::kInt).to(at::kLong).unsqueeze(0);
    return model_->logits(input)[0];
  }

  SafetensorsReader oracle_{fs::path(RETRO_TEST_DATA) / "smollm2" / "oracle.safetensors"};
  const at::NoGradGuard no_gradients_;
  static RetroModel model_;
  static std::unique_ptr<Tokenizer> tokenizer_;
  static std::vector<std::string> texts_;
};

RetroModel SmolLm2Test::model_{nullptr};
std::unique_ptr<Tokenizer> SmolLm2Test::tokenizer_;
std::vector<std::string> SmolLm2Test::texts_;

int64_t fingerprint(const std::vector<int32_t>& ids) {
  int64_t sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) sum += ids[i] * static_cast<int64_t>(i + 1);
  return sum;
}

TEST_F(SmolLm2Test, LogitsAndLossesOfRealParagraphsAgree) {
  const at::Tensor fingerprints = integers("fingerprints"), columns = integers("columns");
  const at::Tensor expected = floats("logits"), losses = floats("losses");
  const int64_t every = kParagraphLength / expected.size(1);
  double worst_logit = 0, worst_loss = 0;
  int64_t row = 0;
  for (const std::string& text : texts_) {
    if (row == expected.size(0)) break;
    std::vector<int32_t> ids = tokenizer_->encode(text).ids;
    if (static_cast<int64_t>(ids.size()) < kParagraphLength) continue;
    ids.resize(kParagraphLength);
    ASSERT_EQ(fingerprint(ids), fingerprints[row].item<int64_t>()) << "paragraph " << row;
    const at::Tensor all = logits(ids);
    const at::Tensor some =
        all.slice(0, every - 1, kParagraphLength, every).index_select(1, columns);
    worst_logit = std::max(worst_logit, (some - expected[row]).abs().max().item<double>());
    worst_loss =
        std::max(worst_loss, (next_losses(all, ids) - losses[row]).abs().max().item<double>());
    ++row;
  }
  ASSERT_EQ(row, expected.size(0));
  std::printf("largest difference of logits %.2e, of losses %.2e\n", worst_logit, worst_loss);
  EXPECT_LE(worst_logit, 2e-3);
  EXPECT_LE(worst_loss, 2e-3);
}

TEST_F(SmolLm2Test, GreedyContinuationsAgree) {
  const at::Tensor prompts = integers("prompts"), greedy = integers("greedy");
  const at::Tensor margins = floats("margins");
  CachedDecoder decoder(model_, nullptr, 0, 2 * model_->config().chunk_length);
  int64_t same = 0;
  for (int64_t row = 0; row < prompts.size(0); ++row) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < prompts.size(1); ++i) {
      if (prompts[row][i].item<int64_t>() >= 0) tokens.push_back(prompts[row][i].item<int32_t>());
    }
    KeyValueCache cache;
    decoder.begin(cache, tokens.front());
    at::Tensor logits_V = decoder.append_text(cache, std::span(tokens).subspan(1));
    int64_t step = 0;
    for (; step < greedy.size(1); ++step) {
      const auto token = logits_V.argmax().item<int32_t>();
      if (token != greedy[row][step].item<int32_t>()) {
        // Only where the oracle itself hardly decides.
        EXPECT_LE(margins[row][step].item<double>(), 4e-3) << "prompt " << row << " step " << step;
        break;
      }
      logits_V = decoder.append_text(cache, {&token, 1});
    }
    same += step == greedy.size(1) ? 1 : 0;
  }
  std::printf("%ld of %ld continuations are the same to their end\n", same, prompts.size(0));
}

TEST_F(SmolLm2Test, BitsPerByteOfWikiArticlesAgree) {
  const at::Tensor expected = floats("article_nats"), counts = integers("article_tokens");
  double nats = 0;
  int64_t bytes = 0;
  for (int64_t row = 0; row < expected.size(0); ++row) {
    const std::string& text = texts_.at(static_cast<size_t>(row * kArticleStep));
    std::vector<int32_t> ids = tokenizer_->encode(text).ids;
    ASSERT_EQ(static_cast<int64_t>(ids.size()), counts[row].item<int64_t>()) << "article " << row;
    ids.insert(ids.begin(), tokenizer_->end_of_document());
    nats += next_losses(logits(ids), ids).sum(at::kDouble).item<double>();
    bytes += static_cast<int64_t>(text.size());
  }
  EXPECT_EQ(bytes, integers("article_bytes").sum().item<int64_t>());
  const double oracle = expected.sum().item<double>();
  const double scale = 1.0 / (std::numbers::ln2 * static_cast<double>(bytes));
  std::printf("%.5f bits per byte, the oracle %.5f\n", nats * scale, oracle * scale);
  EXPECT_NEAR(nats / oracle, 1.0, 1e-3);
}

}  // namespace
}  // namespace retro
