#include "retro/generate/scorer.h"

#include <gtest/gtest.h>

#include "generate/tiny_model.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::full_logits;
using testing::kChunk;
using testing::MadeUpNeighbours;
using testing::random_document;
using testing::stream_of;
using testing::tiny_model;
using testing::Window;

class ScorerTest : public ::testing::Test {
 protected:
  ScorerTest() : model_(tiny_model()) {
    options_.tokenizer = &tokenizer_;
    options_.fetcher = &fetcher_;
    options_.window_length = 4 * kChunk;
    options_.neighbours = 2;
  }

  /// -log softmax of `target` at the last position of `window`.
  double nats(const Window& window, int32_t target, bool is_on) {
    const at::Tensor logits = full_logits(model_, window, is_on ? &fetcher_ : nullptr, 2);
    return -at::log_softmax(logits[-1].to(at::kDouble), 0)[target].item<double>();
  }

  ByteTokenizer tokenizer_;
  MadeUpNeighbours fetcher_;
  RetroModel model_;
  GeneratorOptions options_;
};

TEST_F(ScorerTest, EveryTokenIsScoredOnceWithWhatStandsBeforeIt) {
  // The window of 4 chunks holds the lead chunk and 3 of the document; the next begins with chunk 3
  // of the document.
  const auto document = random_document(5 * kChunk + 2, 1);
  const ScoredText scored = score_text(model_, options_, document);
  ASSERT_EQ(scored.nats_off.size(), document.size());
  ASSERT_EQ(scored.nats_on.size(), document.size());
  const Window stream = stream_of(document);
  for (size_t i = 0; i < document.size(); ++i) {
    const auto position = kChunk + static_cast<int64_t>(i) - 1;  // of the token before
    const int64_t first = position / (4 * kChunk) * (4 * kChunk);
    Window before{{stream.tokens.begin() + first, stream.tokens.begin() + position + 1},
                  first == 0 ? kChunk - 1 : 0};
    EXPECT_NEAR(scored.nats_off[i], nats(before, document[i], false), 1e-3) << i;
    EXPECT_NEAR(scored.nats_on[i], nats(before, document[i], true), 1e-3) << i;
  }
}

TEST_F(ScorerTest, ShortTextsReadNothing) {
  for (const int64_t length : {int64_t{1}, kChunk - 1}) {
    const ScoredText scored = score_text(model_, options_, random_document(length, 2));
    EXPECT_EQ(scored.nats_on, scored.nats_off);
    EXPECT_EQ(static_cast<int64_t>(scored.nats_off.size()), length);
  }
  EXPECT_TRUE(fetcher_.asked.empty());
  EXPECT_TRUE(score_text(model_, options_, {}).nats_off.empty());
}

TEST_F(ScorerTest, WithoutAFetcherOnlyOffIsScored) {
  options_.fetcher = nullptr;
  const ScoredText scored = score_text(model_, options_, random_document(2 * kChunk, 3));
  EXPECT_TRUE(scored.nats_on.empty());
  EXPECT_EQ(scored.nats_off.size(), static_cast<size_t>(2 * kChunk));
}

TEST_F(ScorerTest, ChunksComeWithTheNeighboursOfTheChunkBefore) {
  fetcher_.always_all = true;
  const auto document = random_document(2 * kChunk + 1, 4);
  const ScoredText scored = score_text(model_, options_, document);
  ASSERT_EQ(scored.chunks.size(), 3u);
  EXPECT_TRUE(scored.chunks[0].neighbours.empty());
  const auto expected = fetcher_.neighbours_of({document.begin(), document.begin() + kChunk}, 2);
  ASSERT_EQ(scored.chunks[1].neighbours.size(), 2u);
  EXPECT_EQ(scored.chunks[1].neighbours[0].value_R, expected[0].value_R);
  EXPECT_EQ(scored.chunks[2].tokens.size(), 1u);
}

}  // namespace
}  // namespace retro
