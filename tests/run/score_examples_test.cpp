#include <cmath>

#include <gtest/gtest.h>

#include "retro/run/scoring.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;

std::vector<int32_t> bytes_of(const std::string& text) { return ByteTokenizer().encode(text).ids; }

/// Two chunks of four bytes; the second could read "wxyz" and, as its continuation, "ef".
TextScore tiny_score() {
  TextScore score;
  score.scored.tokens = bytes_of("abcdefgh");
  for (int i = 0; i < 8; ++i) {
    score.scored.nats_off.push_back(i);
    score.scored.nats_on.push_back(0.5 * i);
  }
  score.bytes.assign(8, 1);
  const std::span tokens(score.scored.tokens);
  FetchedNeighbour neighbour{7, 0.25F, bytes_of("wxyzef"), "a source", "a document", "A title"};
  neighbour.value_R.resize(8, -1);
  score.scored.chunks.push_back(make_chunk_view(0, tokens.first(4), {}));
  score.scored.chunks.push_back(make_chunk_view(1, tokens.last(4), {neighbour}));
  return score;
}

TEST(ScoreExamples, EveryTokenOnceWithItsLosses) {
  const auto examples = score_examples(tiny_score(), ByteTokenizer(), "mine.txt");
  ASSERT_EQ(examples.size(), 2u);
  std::string text;
  double off = 0, on = 0;
  for (const ExampleChunk& example : examples) {
    EXPECT_EQ(example.title, "mine.txt");
    EXPECT_TRUE(std::isnan(example.overlap));
    for (const ExamplePiece& piece : example.pieces) {
      text += piece.text;
      off += piece.nats_off;
      on += piece.nats_on;
    }
  }
  EXPECT_EQ(text, "abcdefgh");
  EXPECT_EQ(off, 28.0);
  EXPECT_EQ(on, 14.0);
}

TEST(ScoreExamples, NeighboursWithTitleDistanceAndRuns) {
  const auto examples = score_examples(tiny_score(), ByteTokenizer(), "mine.txt");
  EXPECT_TRUE(examples[0].neighbours.empty());
  ASSERT_EQ(examples[1].neighbours.size(), 1u);
  const ExampleNeighbour& neighbour = examples[1].neighbours[0];
  EXPECT_EQ(neighbour.title, "A title");
  EXPECT_EQ(neighbour.source, "a source");
  EXPECT_EQ(neighbour.distance, 0.25);
  ASSERT_EQ(neighbour.chunk.size(), 4u);
  EXPECT_EQ(neighbour.chunk[0].text, "w");
  // "ef" is a run of the chunk "efgh" and the continuation.
  ASSERT_EQ(neighbour.continuation.size(), 2u);
  EXPECT_EQ(neighbour.continuation[1].run, 2);
  EXPECT_EQ(examples[1].pieces[1].run, 2);
  EXPECT_EQ(examples[1].pieces[2].run, 0);
}

TEST(ScoreExamples, WithRetrievalOffNothingIsScoredOn) {
  TextScore score = tiny_score();
  score.scored.nats_on.clear();
  const auto examples = score_examples(score, ByteTokenizer(), "mine.txt");
  EXPECT_EQ(examples[0].pieces[1].nats_off, 1.0);
  EXPECT_TRUE(std::isnan(examples[0].pieces[1].nats_on));
}

}  // namespace
}  // namespace retro
