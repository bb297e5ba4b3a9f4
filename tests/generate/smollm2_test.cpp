// SmolLM2-135M against `transformers` on the dequantised weights
// (tools/reference/smollm2_oracle.py). Skipped where the weights or the oracle's file are not
// there.
#include <cstdio>
#include <filesystem>
#include <optional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "retro/core/safetensors.h"
#include "retro/generate/cached_decoder.h"
#include "retro/model/gguf_import.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_file(const std::string& extension) {
  const fs::path directory = fs::path(RETRO_DEPS_DIR) / "smollm2";
  if (!fs::exists(directory)) return std::nullopt;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == extension) return entry.path();
  }
  return std::nullopt;
}

class SmolLm2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto weights = find_file(".gguf");
    const auto expected = find_file(".safetensors");
    if (!weights || !expected) GTEST_SKIP() << "no SmolLM2 or no oracle in .deps/smollm2";
    oracle_.emplace(*expected);
    if (!model_) model_ = import_gguf(*weights);
  }
  at::Tensor integers(const std::string& name) const {
    const auto values = to_int64(oracle_->tensor(name));
    return at::tensor(values, at::kLong).view(oracle_->tensor(name).shape);
  }
  at::Tensor floats(const std::string& name) const {
    const auto values = to_float32(oracle_->tensor(name));
    return at::tensor(values).view(oracle_->tensor(name).shape);
  }

  std::optional<SafetensorsReader> oracle_;
  static RetroModel model_;
};

RetroModel SmolLm2Test::model_{nullptr};

TEST_F(SmolLm2Test, LogitsAndLossesOfRealParagraphsAgree) {
  const at::NoGradGuard no_gradients;
  const at::Tensor ids = integers("ids"), columns = integers("columns");
  const at::Tensor expected = floats("logits"), losses = floats("losses");
  double worst = 0, nats = 0;
  for (int64_t row = 0; row < ids.size(0); ++row) {
    ModelInput input;
    input.tokens_BN = ids[row].unsqueeze(0);
    const at::Tensor logits = model_->logits(input)[0];
    worst = std::max(worst,
                     (logits.index_select(1, columns) - expected[row]).abs().max().item<double>());
    const at::Tensor chosen =
        at::log_softmax(logits.slice(0, 0, -1), 1).gather(1, ids[row].slice(0, 1).unsqueeze(1));
    nats -= chosen.sum(at::kDouble).item<double>();
  }
  RecordProperty("largest_logit_difference", std::to_string(worst));
  std::printf("largest difference of logits: %.2e\n", worst);
  EXPECT_LE(worst, 2e-3);
  const double oracle = losses.sum(at::kDouble).item<double>();
  EXPECT_NEAR(nats / oracle, 1.0, 1e-3);
}

TEST_F(SmolLm2Test, GreedyContinuationsAgree) {
  const at::Tensor prompts = integers("prompts"), greedy = integers("greedy");
  const at::Tensor margins = floats("margins");
  CachedDecoder decoder(model_, nullptr, 0, 2 * model_->config().chunk_length);
  for (int64_t row = 0; row < prompts.size(0); ++row) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < prompts.size(1); ++i) {
      if (prompts[row][i].item<int64_t>() >= 0) tokens.push_back(prompts[row][i].item<int32_t>());
    }
    KeyValueCache cache;
    decoder.begin(cache, tokens.front());
    at::Tensor logits = decoder.append_text(cache, std::span(tokens).subspan(1));
    for (int64_t step = 0; step < greedy.size(1); ++step) {
      const auto token = logits.argmax().item<int32_t>();
      if (token != greedy[row][step].item<int32_t>()) {
        // Only where the oracle itself hardly decides.
        EXPECT_LE(margins[row][step].item<double>(), 4e-3) << "prompt " << row << " step " << step;
        break;
      }
      logits = decoder.append_text(cache, {&token, 1});
    }
  }
}

}  // namespace
}  // namespace retro
