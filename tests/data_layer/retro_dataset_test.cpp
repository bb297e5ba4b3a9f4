#include "retro/data/retro_dataset.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/batch_values.h"
#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::HasSubstr;
using testing::longs;
using testing::TinyCorpus;

/// Neighbours that tell which row and rank they were asked for: every id is 100 * row + rank.
class TellingSource final : public NeighbourSource {
 public:
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override {
    const size_t r = values_KR.size() / static_cast<size_t>(k);
    for (size_t i = 0; i < values_KR.size(); ++i) {
      values_KR[i] = static_cast<int32_t>(100 * row + static_cast<int64_t>(i / r));
    }
  }
  std::string name() const override { return "telling"; }
};

/// '$' is end of document; '.' stands where `shown` is false.
std::string text_of(const at::Tensor& ids, const at::Tensor& shown) {
  std::string out;
  const auto id = longs(ids);
  const auto is_shown = longs(shown);
  for (size_t i = 0; i < id.size(); ++i) {
    const char letter = id[i] == ByteTokenizer::kEnd ? '$' : static_cast<char>(id[i]);
    out += is_shown[i] != 0 ? letter : '.';
  }
  return out;
}

TEST(RetroDataset, TargetsAreTheNextTokensAlsoAcrossTheBorder) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, 2);
  ASSERT_EQ(dataset.num_sequences(), 4);
  const Batch batch = dataset.batch(0, 4, nullptr, 0);
  EXPECT_EQ(text_of(batch.tokens_BN, batch.real_BN),
            "...$a$.."
            "bcd$efgh"
            "ijklm$.."
            "nopqrstu");
  EXPECT_EQ(text_of(batch.targets_BN, batch.target_is_real_BN),
            "...a$..b"
            "cd$efghi"
            "jklm$..n"
            "opqrstu.");
  EXPECT_EQ(batch.num_targets, 24);  // 21 tokens and 3 ends of document
  EXPECT_FALSE(batch.neighbours_BLKR.defined());
}

TEST(RetroDataset, EndOfDocumentBelongsToItsChunkAndCoversNoByte) {
  const TinyCorpus corpus = TinyCorpus::of({"a==", "b"});
  const ChunkGrid grid = corpus.grid(4);
  const Batch batch = EvaluationDataset(grid, ByteTokenizer::kEnd, 3).batch(0, 1, nullptr, 0);
  // tokens: ...$ | a == $ . | b $ . .
  EXPECT_EQ(longs(batch.target_row_BN),
            (std::vector<int64_t>{-1, -1, -1, 0, 0, 0, -1, 1, 1, -1, -1, -1}));
  EXPECT_EQ(longs(batch.target_bytes_BN),
            (std::vector<int64_t>{0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(RetroDataset, NumbersDocumentsAndChunksAndFillsTheLastSequence) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, 3);
  ASSERT_EQ(dataset.num_sequences(), 3);
  const Batch batch = dataset.batch(0, 3, nullptr, 0);
  EXPECT_EQ(longs(batch.chunk_row_BL), (std::vector<int64_t>{-1, 0, 1, 2, 3, 4, 5, 6, -1}));
  const at::Tensor first_of_chunk = batch.document_BN.view({9, 4}).select(1, 0);
  const at::Tensor last_of_chunk = batch.document_BN.view({9, 4}).select(1, 3);
  EXPECT_EQ(longs(first_of_chunk), (std::vector<int64_t>{-1, 0, 1, 2, 3, 3, 4, 4, -1}));
  EXPECT_EQ(longs(last_of_chunk), longs(first_of_chunk));
  EXPECT_EQ(text_of(batch.tokens_BN[2], batch.real_BN[2]), "nopqrstu....");
  EXPECT_EQ(text_of(batch.targets_BN[2], batch.target_is_real_BN[2]), "opqrstu.....");
}

TEST(RetroDataset, NeighboursAreThoseOfTheChunk) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, 3);
  const TellingSource source;
  const Batch batch = dataset.batch(0, 3, &source, 2);
  ASSERT_EQ(batch.neighbours_BLKR.sizes(), (std::vector<int64_t>{3, 3, 2, 8}));
  const auto values = longs(batch.neighbours_BLKR.view({9, 2, 8}).select(2, 0));
  EXPECT_EQ(values, (std::vector<int64_t>{-1, -1, 0, 1, 100, 101, 200, 201, 300, 301, 400, 401, 500,
                                          501, 600, 601, -1, -1}));
  // The same value all along a neighbour's row.
  EXPECT_TRUE(
      batch.neighbours_BLKR.eq(batch.neighbours_BLKR.select(3, 0).unsqueeze(3)).all().item<bool>());
}

TEST(RetroDataset, ShiftedGridScoresTheSameTokens) {
  const TinyCorpus corpus = TinyCorpus::of(testing::random_texts(30, 23, 1));
  std::vector<int64_t> bytes;
  std::vector<int64_t> scored_tokens;
  for (const int64_t shift : {0, 1, 2, 3}) {
    const ChunkGrid grid = corpus.grid(4, shift);
    const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, 3);
    const Batch batch = dataset.batch(0, dataset.num_sequences(), nullptr, 0);
    bytes.push_back(batch.target_bytes_BN.sum().item<int64_t>());
    // Ends of document depend on the grid; tokens do not.
    scored_tokens.push_back(batch.target_bytes_BN.gt(0).sum().item<int64_t>());
  }
  EXPECT_EQ(bytes, std::vector<int64_t>(4, bytes[0]));
  EXPECT_EQ(scored_tokens, std::vector<int64_t>(4, scored_tokens[0]));
}

/// Chunk length, chunks of a sequence, overlap.
struct Windows {
  int64_t m;
  int64_t l;
  double overlap;
};

class EveryToken : public ::testing::TestWithParam<Windows> {};

TEST_P(EveryToken, IsScoredOnceAndEveryByteCountedOnce) {
  const auto [m, l, overlap] = GetParam();
  const auto texts = testing::random_texts(40, 29, 2);
  const TinyCorpus corpus = TinyCorpus::of(texts);
  const ChunkGrid grid = corpus.grid(m);
  const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, l, overlap);
  std::map<int64_t, std::string> text_of_row;
  std::map<int64_t, int64_t> bytes_of_row;
  std::map<int64_t, int64_t> ends_of_row;
  int64_t num_targets = 0;
  for (int64_t s = 0; s < dataset.num_sequences(); ++s) {
    const Batch batch = dataset.batch(s, 1, nullptr, 0);
    num_targets += batch.num_targets;
    const auto row = longs(batch.target_row_BN);
    const auto id = longs(batch.targets_BN);
    const auto bytes = longs(batch.target_bytes_BN);
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] < 0) continue;
      const int32_t token = static_cast<int32_t>(id[i]);
      text_of_row[row[i]] += ByteTokenizer().decode({&token, 1});
      bytes_of_row[row[i]] += bytes[i];
      ends_of_row[row[i]] += token == ByteTokenizer::kEnd ? 1 : 0;
    }
  }
  int64_t expected_targets = 0;
  int64_t row = 0;
  for (const std::string& text : texts) {
    std::string seen;
    const auto num_tokens = static_cast<int64_t>(ByteTokenizer().encode(text).ids.size());
    const int64_t num_rows = (num_tokens + m - 1) / m;
    for (int64_t c = 0; c < num_rows; ++c, ++row) {
      seen += text_of_row[row];
      EXPECT_EQ(bytes_of_row[row], static_cast<int64_t>(text_of_row[row].size()));
      EXPECT_EQ(ends_of_row[row], c + 1 == num_rows && num_tokens % m != 0 ? 1 : 0);
    }
    EXPECT_EQ(seen, text);
    expected_targets += num_tokens + (num_tokens % m != 0 ? 1 : 0);
  }
  EXPECT_EQ(num_targets, expected_targets);
}

INSTANTIATE_TEST_SUITE_P(Sizes, EveryToken,
                         ::testing::Values(Windows{1, 1, 0.0}, Windows{4, 1, 0.0},
                                           Windows{4, 3, 0.0}, Windows{4, 500, 0.0},
                                           Windows{4, 2, 0.5}, Windows{4, 4, 0.75},
                                           Windows{3, 8, 0.875}, Windows{64, 2, 0.5}));

TEST(RetroDataset, OverlappingWindowsScoreOnlyNewTokens) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const EvaluationDataset dataset(grid, ByteTokenizer::kEnd, 4, 0.5);
  ASSERT_EQ(dataset.num_sequences(), 3);  // slots 0-3, 2-5, 4-7
  const Batch batch = dataset.batch(0, 3, nullptr, 0);
  EXPECT_EQ(text_of(batch.targets_BN[1], batch.target_is_real_BN[1]),
            "........"
            "jklm$..n");
  EXPECT_EQ(text_of(batch.tokens_BN[1], batch.real_BN[1]), "bcd$efghijklm$..");
  EXPECT_EQ(text_of(batch.targets_BN[2], batch.target_is_real_BN[2]),
            "........"
            "opqrstu.");
}

TEST(RetroDataset, RefusesAStrideOfPartChunksAndNamesTheSmallestLength) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  try {
    EvaluationDataset(grid, ByteTokenizer::kEnd, 2, 0.75);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("smallest length is 16 tokens"));
  }
  EXPECT_THROW(EvaluationDataset(grid, ByteTokenizer::kEnd, 2, 1.0), Error);
  EXPECT_THROW(EvaluationDataset(grid, ByteTokenizer::kEnd, 0), Error);
}

TEST(RetroDataset, AnEmptyBatchHasNoSequences) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const Batch batch = EvaluationDataset(grid, ByteTokenizer::kEnd, 2).batch(0, 0, nullptr, 0);
  EXPECT_EQ(batch.tokens_BN.size(0), 0);
  EXPECT_EQ(batch.num_targets, 0);
}

}  // namespace
}  // namespace retro
