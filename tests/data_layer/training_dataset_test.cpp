#include "retro/data/training_dataset.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/batch_values.h"
#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::longs;
using testing::TinyCorpus;

constexpr int64_t kChunkLength = 4;
constexpr int32_t kTableBase = 1000;
constexpr int32_t kRandomBase = 9000;

/// Every id of rank j is base + j.
class RankSource final : public NeighbourSource {
 public:
  explicit RankSource(int32_t base) : base_(base) {}
  void copy_values(int64_t, int64_t k, std::span<int32_t> values_KR) const override {
    const size_t r = values_KR.size() / static_cast<size_t>(k);
    for (size_t i = 0; i < values_KR.size(); ++i) {
      values_KR[i] = base_ + static_cast<int32_t>(i / r);
    }
  }
  std::string name() const override { return "rank"; }

 private:
  int32_t base_;
};

class TrainingDatasetTest : public ::testing::Test {
 protected:
  TrainingDatasetTest()
      : texts_(testing::random_texts(50, 30, 8)),
        corpus_(TinyCorpus::of(texts_)),
        grid_(corpus_.grid(kChunkLength)) {
    config_.chunks_per_sequence = 3;
    config_.batch_size = 4;
    config_.seed = 21;
  }

  TrainingSources sources() const { return {&grid_, ByteTokenizer::kEnd, &table_, &random_}; }
  TrainingDataset dataset() const { return {sources(), config_}; }
  int64_t num_rows() const { return grid_.num_rows(); }

  std::vector<std::string> texts_;
  TinyCorpus corpus_;
  ChunkGrid grid_;
  RankSource table_{kTableBase};
  RankSource random_{kRandomBase};
  TrainingDataConfig config_;
};

/// Rows of all chunks of one epoch, in reading order.
std::vector<int64_t> rows_of_epoch(const TrainingDataset& dataset, const TrainingDataConfig& config,
                                   int64_t epoch) {
  const int64_t per_epoch = dataset.num_sequences(1);
  std::vector<int64_t> rows;
  for (int64_t s = epoch * per_epoch; s < (epoch + 1) * per_epoch; ++s) {
    const Batch batch = dataset.batch(s / config.batch_size);
    const auto row = longs(batch.chunk_row_BL[s % config.batch_size]);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

TEST_F(TrainingDatasetTest, AnEpochHoldsEveryChunkOnce) {
  const TrainingDataset data = dataset();
  const int64_t slots = num_rows() + 1;
  EXPECT_EQ(data.num_sequences(1), (slots + 2) / 3);
  EXPECT_EQ(data.num_sequences(4), 4 * data.num_sequences(1));
  for (const int64_t epoch : {0, 1, 2}) {
    std::vector<int64_t> rows = rows_of_epoch(data, config_, epoch);
    std::erase(rows, -1);
    std::sort(rows.begin(), rows.end());
    std::vector<int64_t> all(static_cast<size_t>(num_rows()));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(rows, all);
  }
}

TEST_F(TrainingDatasetTest, AnEpochScoresEveryTokenAndByteOnce) {
  const TrainingDataset data = dataset();
  int64_t bytes = 0;
  int64_t targets = 0;
  const int64_t end = data.num_sequences(1);
  for (int64_t i = 0; i * config_.batch_size < end; ++i) {
    const Batch batch = data.batch(i, end);
    bytes += batch.target_bytes_BN.sum().item<int64_t>();
    targets += batch.num_targets;
    EXPECT_EQ(batch.target_is_real_BN.sum().item<int64_t>(), batch.num_targets);
  }
  int64_t expected_bytes = 0;
  int64_t expected_targets = 0;
  for (const std::string& text : texts_) {
    const auto tokens = static_cast<int64_t>(ByteTokenizer().encode(text).ids.size());
    expected_bytes += static_cast<int64_t>(text.size());
    expected_targets += tokens + (tokens % kChunkLength != 0 ? 1 : 0);
  }
  EXPECT_EQ(bytes, expected_bytes);
  EXPECT_EQ(targets, expected_targets);
}

TEST_F(TrainingDatasetTest, ChunksOfADocumentStayInOrderWithinASequence) {
  config_.chunks_per_sequence = 1000;  // one sequence an epoch: the whole stream
  config_.batch_size = 1;
  const TrainingDataset data = dataset();
  const auto rows = longs(data.batch(0).chunk_row_BL);
  EXPECT_EQ(rows[0], -1);
  std::vector<int64_t> document_order;
  for (int64_t c = 1; c <= num_rows(); ++c) {
    const int64_t row = rows[static_cast<size_t>(c)];
    const int64_t d = grid_.document_of_row(row);
    if (row == grid_.first_row(d)) {
      document_order.push_back(d);
    } else {
      EXPECT_EQ(row, rows[static_cast<size_t>(c - 1)] + 1);
    }
  }
  EXPECT_FALSE(std::is_sorted(document_order.begin(), document_order.end()));
}

TEST_F(TrainingDatasetTest, SequencesAreShuffledDifferentlyInEveryEpoch) {
  const TrainingDataset data = dataset();
  const auto first = rows_of_epoch(data, config_, 0);
  EXPECT_NE(first, rows_of_epoch(data, config_, 1));
  // The lead chunk's sequence comes first only by chance.
  std::set<size_t> places;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    config_.seed = seed;
    const TrainingDataset other = dataset();
    for (int64_t s = 0; s < other.num_sequences(1); ++s) {
      const Batch batch = other.batch(s / 4);
      const auto real = batch.real_BN[s % 4];
      // A lead chunk: m-1 masked positions, then a real one, of no document.
      if (longs(batch.document_BN[s % 4])[0] == -1 && longs(real)[kChunkLength - 1] == 1) {
        places.insert(static_cast<size_t>(s));
      }
    }
  }
  EXPECT_GT(places.size(), 2U);
}

TEST_F(TrainingDatasetTest, ABatchIsAFunctionOfSeedAndPositionAlone) {
  config_.curriculum.neighbours = {1, 2};
  config_.curriculum.self_neighbour = {0.5, 0.5, 2};
  config_.curriculum.useless_neighbours = {0.4, 0.5};
  config_.leaky_micro_steps = 20;
  const TrainingDataset forwards = dataset();
  const TrainingDataset backwards = dataset();
  constexpr int64_t kBatches = 40;  // several epochs
  std::vector<Batch> expected;
  for (int64_t i = 0; i < kBatches; ++i) expected.push_back(forwards.batch(i));
  std::vector<std::thread> threads;
  std::vector<Batch> found(kBatches);
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = kBatches - 1 - t; i >= 0; i -= 4) {
        found[static_cast<size_t>(i)] = backwards.batch(i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(expected[i].tokens_BN.equal(found[i].tokens_BN)) << i;
    EXPECT_TRUE(expected[i].targets_BN.equal(found[i].targets_BN)) << i;
    EXPECT_TRUE(expected[i].chunk_row_BL.equal(found[i].chunk_row_BL)) << i;
    EXPECT_TRUE(expected[i].neighbours_BLKR.equal(found[i].neighbours_BLKR)) << i;
  }
}

TEST_F(TrainingDatasetTest, TheLastBatchOfTheDataIsSmaller) {
  const TrainingDataset data = dataset();
  const Batch batch = data.batch(1, /*end_sequence=*/5);
  EXPECT_EQ(batch.tokens_BN.size(0), 1);
  EXPECT_TRUE(batch.tokens_BN.equal(data.batch(1).tokens_BN.narrow(0, 0, 1)));
  EXPECT_THROW(data.batch(2, 5), Error);
}

/// Ids of rank `rank` of the first chunk that has a row.
int64_t first_id(const Batch& batch, int64_t sequence, int64_t rank) {
  const auto rows = longs(batch.chunk_row_BL[sequence]);
  const auto chunk = std::find_if(rows.begin(), rows.end(), [](int64_t row) { return row >= 0; });
  return batch.neighbours_BLKR[sequence][chunk - rows.begin()][rank][0].item<int64_t>();
}

TEST_F(TrainingDatasetTest, SequencesOfFewerNeighboursHaveTheRestMissing) {
  config_.curriculum.neighbours = {1, 3};
  const TrainingDataset data = dataset();
  int64_t checked = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const Batch batch = data.batch(i);
    const int64_t k = batch.neighbours_BLKR.size(2);
    for (int64_t b = 0; b < 4; ++b) {
      const int64_t own_k = data.draw(i, 4 * i + b).k;
      for (int64_t rank = 0; rank < k; ++rank) {
        EXPECT_EQ(first_id(batch, b, rank), rank < own_k ? kTableBase + rank : -1);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 100);
}

TEST_F(TrainingDatasetTest, UselessSequencesReadRandomOrNothing) {
  config_.curriculum.neighbours = {2};
  config_.curriculum.useless_neighbours = {0.7, 0.5};
  const TrainingDataset data = dataset();
  std::map<NeighbourKind, int64_t> seen;
  for (int64_t i = 0; i < 20; ++i) {
    const Batch batch = data.batch(i);
    for (int64_t b = 0; b < 4; ++b) {
      const NeighbourKind kind = data.draw(i, 4 * i + b).kind;
      ++seen[kind];
      const std::map<NeighbourKind, int64_t> expected = {{NeighbourKind::kTable, kTableBase + 1},
                                                         {NeighbourKind::kRandom, kRandomBase + 1},
                                                         {NeighbourKind::kNone, -1}};
      EXPECT_EQ(first_id(batch, b, 1), expected.at(kind));
    }
  }
  EXPECT_EQ(seen.size(), 3U);
}

/// Every id is the number of the sequence it was drawn for.
class SequenceSource final : public NeighbourSource {
 public:
  void copy_values(int64_t, int64_t, std::span<int32_t>) const override { FAIL(); }
  void copy_values_anew(int64_t, int64_t sequence, int64_t,
                        std::span<int32_t> values_KR) const override {
    std::fill(values_KR.begin(), values_KR.end(), static_cast<int32_t>(sequence));
  }
  std::string name() const override { return "sequence"; }
};

TEST_F(TrainingDatasetTest, UselessNeighboursAreDrawnForTheirSequence) {
  const SequenceSource by_sequence;
  config_.curriculum.neighbours = {2};
  config_.curriculum.useless_neighbours = {1.0, 1.0};
  const TrainingDataset data({&grid_, ByteTokenizer::kEnd, &table_, &by_sequence}, config_);
  const int64_t batches = 2 * data.num_sequences(1) / config_.batch_size;  // two epochs
  for (int64_t i = 0; i < batches; ++i) {
    const Batch batch = data.batch(i);
    for (int64_t b = 0; b < 4; ++b) EXPECT_EQ(first_id(batch, b, 1), 4 * i + b);
  }
}

TEST_F(TrainingDatasetTest, LeakySequencesSeeTheirOwnTextAndContinuation) {
  config_.curriculum.neighbours = {2};
  config_.curriculum.self_neighbour = {0.5, 1.0, 0};
  config_.leaky_micro_steps = 3;
  const TrainingDataset data = dataset();
  for (int64_t i = 0; i < 6; ++i) {
    const Batch batch = data.batch(i);
    const auto rows = longs(batch.chunk_row_BL);
    const at::Tensor values = batch.neighbours_BLKR.flatten(0, 1);
    const at::Tensor tokens = batch.tokens_BN.view({-1, kChunkLength});
    for (size_t c = 0; c < rows.size(); ++c) {
      if (rows[c] < 0) continue;
      const auto value = longs(values[static_cast<int64_t>(c)][0]);
      const auto own = longs(tokens[static_cast<int64_t>(c)]);
      const auto length = static_cast<size_t>(grid_.span(rows[c]).length);
      const bool is_own =
          std::equal(value.begin(), value.begin() + static_cast<int64_t>(length), own.begin());
      EXPECT_EQ(is_own, i < 3);
      EXPECT_EQ(longs(values[static_cast<int64_t>(c)][1])[0], kTableBase + 1);
    }
  }
}

TEST_F(TrainingDatasetTest, JitterIsUniformInItsRangeAndNewForEveryChunk) {
  // One long document: offsets of +-3 are never cut at its ends, except in the first and last
  // chunk.
  std::string text;
  for (int i = 0; i < 4 * 3000; ++i) text += static_cast<char>('a' + (i * i / 7 + i) % 26);
  const TinyCorpus corpus = TinyCorpus::of({text});
  const ChunkGrid grid = corpus.grid(kChunkLength);
  config_.chunks_per_sequence = 8;
  config_.curriculum.neighbours = {1};
  config_.curriculum.self_neighbour = {1.0, 1.0, 3};
  config_.leaky_micro_steps = 1'000'000;
  const TrainingDataset data({&grid, ByteTokenizer::kEnd, &table_, nullptr}, config_);
  const auto tokens = corpus.corpus().tokens(0);
  std::map<int64_t, int64_t> count_of_offset;
  int64_t num_chunks = 0;
  for (int64_t i = 0; i < data.num_sequences(1) / config_.batch_size; ++i) {
    const Batch batch = data.batch(i);
    const auto rows = longs(batch.chunk_row_BL);
    const at::Tensor values = batch.neighbours_BLKR.flatten(0, 1);
    for (size_t c = 0; c < rows.size(); ++c) {
      if (rows[c] < 1 || rows[c] > grid.num_rows() - 4) continue;
      const auto value = longs(values[static_cast<int64_t>(c)][0]);
      // Offsets at which the value's 8 tokens stand in the text; nearly always one.
      std::vector<int64_t> fits;
      for (int64_t offset = -8; offset <= 8; ++offset) {
        const int64_t begin = rows[c] * kChunkLength + offset;
        if (begin >= 0 && std::equal(value.begin(), value.end(), tokens.begin() + begin)) {
          fits.push_back(offset);
        }
      }
      ASSERT_FALSE(fits.empty());
      if (fits.size() > 1) continue;
      ++count_of_offset[fits[0]];
      ++num_chunks;
    }
  }
  ASSERT_GT(num_chunks, 2000);
  EXPECT_EQ(count_of_offset.size(), 7U);
  const double expected = static_cast<double>(num_chunks) / 7.0;
  for (const auto& [offset, count] : count_of_offset) {
    EXPECT_LE(std::abs(offset), 3);
    // Five standard deviations of a binomial count.
    EXPECT_NEAR(static_cast<double>(count), expected, 5.0 * std::sqrt(expected * 6.0 / 7.0));
  }
}

TEST_F(TrainingDatasetTest, WithoutNeighboursRetrievalIsOff) {
  const TrainingDataset data({&grid_, ByteTokenizer::kEnd, nullptr, nullptr}, config_);
  EXPECT_FALSE(data.batch(0).neighbours_BLKR.defined());
}

TEST_F(TrainingDatasetTest, TextAndOrderDoNotDependOnTheCurriculum) {
  const Batch plain = dataset().batch(7);
  config_.curriculum.neighbours = {1, 2, 3};
  config_.curriculum.useless_neighbours = {0.9, 0.5};
  EXPECT_TRUE(dataset().batch(7).tokens_BN.equal(plain.tokens_BN));
}

TEST_F(TrainingDatasetTest, RefusesWhatItCannotServe) {
  config_.curriculum.useless_neighbours = {0.5, 0.5};
  EXPECT_THROW(TrainingDataset({&grid_, ByteTokenizer::kEnd, &table_, nullptr}, config_), Error);
  config_.curriculum.useless_neighbours = {0.5, 0.0};
  EXPECT_NO_THROW(TrainingDataset({&grid_, ByteTokenizer::kEnd, &table_, nullptr}, config_));
  config_.batch_size = 0;
  EXPECT_THROW(dataset(), Error);
}

}  // namespace
}  // namespace retro
