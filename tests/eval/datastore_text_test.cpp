#include "retro/eval/datastore_text.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/eval/knn_passes.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::kEvalChunk;
using testing::kEvalSequence;
using testing::random_model;
using testing::TemporaryDirectory;
using testing::TinyCorpus;

int64_t tokens_of(const ChunkGrid& grid) {
  int64_t tokens = 0;
  for (int64_t row = 0; row < grid.num_rows(); ++row)
    tokens += static_cast<int64_t>(grid.tokens(row).size());
  return tokens;
}

TEST(DatastoreText, NeverHoldsMoreThanAskedFor) {
  std::vector<std::string> texts;
  for (size_t length = 3; length < 40; length += 4) texts.emplace_back(length, 'a');
  const TinyCorpus corpus = TinyCorpus::of(texts);
  const int64_t total = 3 + 7 + 11 + 15 + 19 + 23 + 27 + 31 + 35 + 39;
  EXPECT_EQ(tokens_of(datastore_text(corpus.corpus(), kEvalChunk, 0)), total);
  EXPECT_EQ(tokens_of(datastore_text(corpus.corpus(), kEvalChunk, total)), total);
  int64_t last = 0;
  for (const int64_t most : {50, 100, 150, 200}) {
    const ChunkGrid grid = datastore_text(corpus.corpus(), kEvalChunk, most);
    EXPECT_LE(tokens_of(grid), most);
    EXPECT_GT(tokens_of(grid), most - 39);  // what does not fit is no longer than that
    EXPECT_GE(tokens_of(grid), last);
    last = tokens_of(grid);
  }
}

TEST(DatastoreText, OneHugeDocumentIsCut) {
  const TinyCorpus corpus = TinyCorpus::of({std::string(1000, 'x')});
  const ChunkGrid grid = datastore_text(corpus.corpus(), kEvalChunk, 50);
  EXPECT_EQ(grid.num_documents(), 1);
  EXPECT_EQ(tokens_of(grid), 50);
}

TEST(DatastoreText, ItsSizeOnDiskIsKnownBefore) {
  const TinyCorpus corpus = TinyCorpus::of({"a text of ours", "another one"});
  const ChunkGrid grid = datastore_text(corpus.corpus(), kEvalChunk, 0);
  const EvaluationDataset data(grid, ByteTokenizer::kEnd, kEvalSequence / kEvalChunk);
  const TemporaryDirectory directory;
  RetroModel model = random_model(true, 3);
  const KnnPass pass{&model, &data, nullptr, 0, 2, "datastore"};
  const Datastore store(pass, std::string(32, 'a'), directory.path() / "datastore");
  constexpr uint64_t kHeaders = 2 * 128;
  EXPECT_EQ(std::filesystem::file_size(directory.path() / "datastore/states.bin") +
                std::filesystem::file_size(directory.path() / "datastore/tokens.bin"),
            datastore_bytes(grid, 16) + kHeaders);  // both documents have room for their ends
}

}  // namespace
}  // namespace retro
