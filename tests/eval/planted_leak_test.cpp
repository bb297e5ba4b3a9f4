// Leakage of a known size is found: copies of 8, 16, 32 and 64 tokens of evaluation chunks, planted
// in the database, move each chunk to the bucket of that size; a paraphrase stays where it was.
#include <gtest/gtest.h>

#include "retro/core/random.h"
#include "retro/eval/filtered_bpb.h"
#include "retro/eval/overlap.h"
#include "retro/eval/row_groups.h"

#include "data_layer/tiny_corpus.h"
#include "data_layer/tiny_database.h"

namespace retro {
namespace {

using testing::TemporaryDirectory;
using testing::TinyCorpus;
using testing::TinyDatabase;
using testing::TinySource;

constexpr int64_t kLeakChunkLength = 64;
constexpr size_t kChunk = kLeakChunkLength;

/// Letters from `first` on, in words of `word` letters.
std::string random_words(size_t length, char first, size_t word, uint64_t seed) {
  RandomStream random(seed, "planted text");
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    const bool is_blank = i % (word + 1) == word;
    text += is_blank ? ' ' : static_cast<char>(first + static_cast<char>(random.below(13)));
  }
  return text;
}

/// The words in reverse order: the embedder of words finds it near, and the longest common run is a
/// word between two blanks.
std::string paraphrase(const std::string& text) {
  std::string result;
  for (size_t end = text.size(); end != std::string::npos;) {
    const size_t blank = end == 0 ? std::string::npos : text.rfind(' ', end - 1);
    const size_t begin = blank == std::string::npos ? 0 : blank + 1;
    result += text.substr(begin, end - begin) + " ";
    end = blank;
  }
  return result.substr(0, text.size());
}

class PlantedLeak : public ::testing::Test {
 protected:
  /// Document d is one chunk of letters a..m; the database holds documents of letters n..z in which
  /// kPlanted[d] tokens of it stand, and a paraphrase of the last document.
  static constexpr std::array<size_t, 5> kPlanted = {0, 8, 16, 32, 64};

  PlantedLeak() {
    std::vector<std::string> evaluated;
    std::vector<std::string> stored;
    for (size_t d = 0; d < kPlanted.size(); ++d) {
      evaluated.push_back(random_words(kChunk, 'a', 4, d));
      std::string host = random_words(2 * kChunk, 'n', 200, 100 + d);
      // Across the border of N and F, from the middle of the chunk.
      const size_t from = (kChunk - kPlanted[d]) / 2;
      host.replace(kChunk - kPlanted[d] / 2, kPlanted[d], evaluated[d].substr(from, kPlanted[d]));
      stored.push_back(host);
    }
    evaluated.push_back(random_words(kChunk, 'a', 4, 50));
    stored.push_back(paraphrase(evaluated.back()));
    evaluated_ = std::make_unique<TinyCorpus>(std::vector<TinySource>{{"evaluated", evaluated}});
    stored_ = std::make_unique<TinyCorpus>(std::vector<TinySource>{{"stored", stored}});
    grid_ = std::make_unique<ChunkGrid>(evaluated_->grid(kLeakChunkLength));
    database_ = std::make_unique<TinyDatabase>(stored_->grid(kLeakChunkLength), directory_.path());
  }

  TemporaryDirectory directory_;
  std::unique_ptr<TinyCorpus> evaluated_;
  std::unique_ptr<TinyCorpus> stored_;
  std::unique_ptr<ChunkGrid> grid_;
  std::unique_ptr<TinyDatabase> database_;
};

TEST_F(PlantedLeak, CopiesMoveTheirChunkToTheBucketOfTheirSize) {
  const int64_t all = database_->database().num_chunks();
  const NeighbourTable table = database_->table(*grid_, Exclusion::kDocument, all, "table");
  const auto overlaps = chunk_overlaps(*grid_, table, database_->database(), all, 2);
  ChunkFacts facts;
  std::vector<int64_t> rows;
  for (size_t row = 0; row < overlaps.size(); ++row) {
    facts.document.push_back(static_cast<int32_t>(row));
    facts.overlap.push_back(overlaps[row].ratio());
    rows.push_back(static_cast<int64_t>(row));
  }
  // A host's own letters are others than the chunk's, so that the run is the copy.
  EXPECT_EQ(overlaps[1].longest_run, 8);
  EXPECT_EQ(overlaps[2].longest_run, 16);
  EXPECT_EQ(overlaps[3].longest_run, 32);
  EXPECT_EQ(overlaps[4].longest_run, 64);
  using Rows = std::vector<int64_t>;
  EXPECT_EQ(rows_within(facts, rows, 0.124), (Rows{0, 5}));
  EXPECT_EQ(rows_within(facts, rows, 0.125), (Rows{0, 1, 5}));
  EXPECT_EQ(rows_within(facts, rows, 0.25), (Rows{0, 1, 2, 5}));
  EXPECT_EQ(rows_within(facts, rows, 0.5), (Rows{0, 1, 2, 3, 5}));
  EXPECT_EQ(rows_within(facts, rows, 1.0), (Rows{0, 1, 2, 3, 4, 5}));
}

TEST_F(PlantedLeak, AParaphraseIsFoundAndStaysInTheLowestBucket) {
  const NeighbourTable table = database_->table(*grid_, Exclusion::kDocument, 10, "table");
  const RetrievalDatabase& database = database_->database();
  const int64_t nearest = table.ids(5)[0];
  EXPECT_EQ(database.document(database.document_of(nearest)).id, "5");
  const ChunkOverlap overlap = chunk_overlap(*grid_, table, database, 5, 10);
  EXPECT_LT(overlap.ratio(), 0.125);  // a word between blanks, a letter more by chance
}

}  // namespace
}  // namespace retro
