// Cached decoding and scoring on device "cuda" against the CPU.
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/eval/answering.h"
#include "retro/generate/cached_decoder.h"
#include "retro/generate/generator.h"
#include "retro/generate/scorer.h"

#include "device_model.h"
#include "device_test_support.h"
#include "generate/tiny_model.h"

namespace retro::testing {
namespace {

ModelConfig decoding_config(const std::string& positions) {
  ModelConfig config = device_config();
  config.vocabulary = ByteTokenizer::kVocabulary;
  config.block.positions = positions;
  config.block.max_positions = positions == "learned" ? 64 : 0;
  return config;
}

/// Logits after each of 21 tokens: windows are dropped and chunks fetch neighbours on the way.
std::vector<at::Tensor> decode(const ModelConfig& config, at::Device device) {
  MadeUpNeighbours neighbours;
  CachedDecoder decoder(device_model(config, device, Precision::kFloat32), &neighbours, 2,
                        4 * kChunk);
  KeyValueCache cache;
  std::vector<at::Tensor> logits = {decoder.begin(cache, ByteTokenizer::kEnd)};
  for (const int32_t token : random_document(21, 5)) {
    const AppendRequest request{&cache, {&token, 1}};
    logits.push_back(decoder.append({&request, 1})[0]);
  }
  return logits;
}

TEST(GenerateDevice, CachedLogitsAreTheSame) {
  for (const char* positions : {"relative", "rotary", "learned"}) {
    const auto expected = decode(decoding_config(positions), at::kCPU);
    const auto actual = decode(decoding_config(positions), kDevice);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      expect_near(actual[i].cpu(), expected[i], 1e-4, positions);
    }
  }
}

std::vector<int32_t> generated(at::Device device, int64_t beams) {
  const ByteTokenizer tokenizer;
  MadeUpNeighbours neighbours;
  GeneratorOptions options;
  options.tokenizer = &tokenizer;
  options.fetcher = &neighbours;
  options.neighbours = 2;
  options.window_length = 4 * kChunk;
  SampleConfig sample;
  sample.max_tokens = 12;
  sample.temperature = 0;
  sample.beams = beams;
  const RetroModel model = device_model(decoding_config("relative"), device, Precision::kFloat32);
  return Generator(model, options).generate({{'a', 'b', 'c'}}, sample).front().tokens;
}

TEST(GenerateDevice, GreedyAndBeamsChooseTheSame) {
  EXPECT_EQ(generated(kDevice, 1), generated(at::kCPU, 1));
  EXPECT_EQ(generated(kDevice, 2), generated(at::kCPU, 2));
}

TEST(GenerateDevice, ScoresAreTheSame) {
  const ByteTokenizer tokenizer;
  MadeUpNeighbours neighbours;
  GeneratorOptions options;
  options.tokenizer = &tokenizer;
  options.fetcher = &neighbours;
  options.neighbours = 2;
  options.window_length = 4 * kChunk;
  const auto text = random_document(19, 8);
  const auto score = [&](at::Device device, Precision precision) {
    RetroModel model = device_model(decoding_config("relative"), device, precision);
    return score_text(model, options, text).nats_on;
  };
  const auto expected = score(at::kCPU, Precision::kFloat32);
  const auto actual = score(kDevice, Precision::kFloat32);
  const auto rounded = score(kDevice, Precision::kBfloat16);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-4);
    EXPECT_NEAR(rounded[i], expected[i], 0.1);
  }
}

/// Rows of the output that bfloat16 cannot tell apart: the larger logit is the answer.
TEST(GenerateDevice, AnswersChooseAmongFloat32Logits) {
  RetroModel model = device_model(decoding_config("relative"), kDevice, Precision::kBfloat16);
  {
    const torch::NoGradGuard no_gradients;
    const at::Tensor weight_VD = model->output_weight();
    const double nearly_one = 1.0 + std::ldexp(1.0, -10);
    weight_VD.zero_();
    weight_VD[3].fill_(1.0);
    weight_VD[5].fill_(-1.0);
    weight_VD[7].fill_(nearly_one);
    weight_VD[9].fill_(-nearly_one);
  }
  QaLayout prompt;
  prompt.tokens_N = {ByteTokenizer::kEnd, 'w', 'h', 'y', 0, 0, 0, 0};
  prompt.is_real_N = {0, 1, 1, 1, 0, 0, 0, 0};
  const auto answers = greedy_answers(model, {&prompt, 1}, ByteTokenizer::kEnd, 3, false);
  ASSERT_EQ(answers.front().size(), 3U);
  for (const int32_t token : answers.front()) EXPECT_TRUE(token == 7 || token == 9) << token;
}

}  // namespace
}  // namespace retro::testing
