// Cached decoding of imported blocks: rotary positions, grouped keys, learned positions.
#include <gtest/gtest.h>

#include "retro/generate/cached_decoder.h"

#include "generate/tiny_model.h"

namespace retro::testing {
namespace {

constexpr int64_t kWindow = 6 * kChunk;

ModelConfig llama_blocks(const std::string& cca_scheme) {
  ModelConfig config = tiny_config();
  config.heads = 4;
  config.block.positions = "rotary";
  config.block.key_value_heads = 2;
  config.block.feed_forward = "swiglu";
  config.cca_scheme = cca_scheme;
  return config;
}

ModelConfig gpt2_blocks() {
  ModelConfig config = tiny_config();
  config.block.norm = "layer";
  config.block.positions = "learned";
  config.block.max_positions = kWindow;
  config.block.bias = true;
  return config;
}

class ImportedBlocks : public ::testing::TestWithParam<ModelConfig> {};

/// docs/testing.md: 1e-4 at every position, token by token.
TEST_P(ImportedBlocks, CachedEqualsTheFullForward) {
  RetroModel model = tiny_model(GetParam());
  MadeUpNeighbours fetcher;
  const auto document = random_document(4 * kChunk + 3, 1);
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  KeyValueCache cache;
  const at::Tensor expected = full_logits(model, stream_of(document), &fetcher, 2);
  ASSERT_GT(largest_difference(expected, full_logits(model, stream_of(document), nullptr, 0)),
            0.02);
  EXPECT_LT(largest_difference(decoder.begin(cache, ByteTokenizer::kEnd), expected[kChunk - 1]),
            1e-4);
  for (size_t i = 0; i < document.size(); ++i) {
    const AppendRequest request{&cache, std::span(document).subspan(i, 1)};
    const at::Tensor logits = decoder.append({&request, 1})[0];
    EXPECT_LT(largest_difference(logits, expected[kChunk + static_cast<int64_t>(i)]), 1e-4) << i;
  }
}

/// Chunk by chunk, two sequences at different positions in one step, and past the window's end.
TEST_P(ImportedBlocks, WholeTextsAndRaggedBatchesAgreeWithSingleTokens) {
  RetroModel model = tiny_model(GetParam());
  MadeUpNeighbours fetcher;
  CachedDecoder decoder(model, &fetcher, 2, kWindow);
  const std::vector<std::vector<int32_t>> documents = {random_document(2 * kChunk + 1, 2),
                                                       random_document(8 * kChunk + 2, 3)};
  std::vector<KeyValueCache> together(2), alone(2);
  std::vector<at::Tensor> expected;
  const std::vector<int32_t> next = {'q', 'z'};
  std::vector<AppendRequest> requests;
  for (size_t row = 0; row < 2; ++row) {
    decoder.begin(together[row], ByteTokenizer::kEnd);
    decoder.append_text(together[row], documents[row]);
    requests.push_back({&together[row], std::span(next).subspan(row, 1)});
    decoder.begin(alone[row], ByteTokenizer::kEnd);
    for (const int32_t token : documents[row]) decoder.append_text(alone[row], {&token, 1});
    expected.push_back(decoder.append_text(alone[row], std::span(next).subspan(row, 1)));
  }
  const at::Tensor logits = decoder.append(requests);
  for (size_t row = 0; row < 2; ++row)
    EXPECT_LT(largest_difference(logits[static_cast<int64_t>(row)], expected[row]), 1e-4) << row;
}

std::string family_name(const ::testing::TestParamInfo<ModelConfig>& instance) {
  if (instance.param.block.positions == "learned") return "gpt2";
  return instance.param.cca_scheme == "rotary" ? "llama_rotary_cca" : "llama";
}

INSTANTIATE_TEST_SUITE_P(Families, ImportedBlocks,
                         ::testing::Values(llama_blocks("relative"), llama_blocks("rotary"),
                                           gpt2_blocks()),
                         family_name);

}  // namespace
}  // namespace retro::testing
