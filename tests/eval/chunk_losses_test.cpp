#include "retro/eval/chunk_losses.h"

#include <cmath>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::TemporaryDirectory;
using testing::TinyCorpus;

constexpr int64_t kChunkLength = 4;

/// A pass that scores token t of document d with 10 d + t nats and every end-of-document token with
/// 1,000, leaving out tokens from `end` on.
std::filesystem::path write_pass(const ChunkGrid& grid, const std::filesystem::path& path,
                                 int64_t end = 1000) {
  LossDescription description;
  description.column = {"on", 1, grid.shift()};
  description.grid_hash = grid.hash();
  description.chunk_length = kChunkLength;
  write_loss_file(path, description, grid.num_rows(), [&](LossFileWriter& writer) {
    for (int64_t row = 0; row < grid.num_rows(); ++row) {
      const int64_t d = grid.document_of_row(row);
      const ChunkSpan span = grid.span(row);
      if (span.first_token >= end) continue;
      for (int64_t i = 0; i < span.length; ++i) {
        writer.add(row, static_cast<float>(10 * d + span.first_token + i),
                   grid.token_bytes(row)[static_cast<size_t>(i)]);
      }
      const int64_t left = span.first_token == 0 ? grid.shift() : 0;
      if (left + span.length < kChunkLength) writer.add(row, 1000.0F, 0);
    }
  });
  return path;
}

class ChunkLossesTest : public ::testing::Test {
 protected:
  // Documents of 6 tokens (7 bytes), 4 tokens and 1 token.
  ChunkLossesTest()
      : corpus_(TinyCorpus::of({"abcd==f", "wxyz", "q"})), grid_(corpus_.grid(kChunkLength)) {}
  TemporaryDirectory directory_;
  TinyCorpus corpus_;
  ChunkGrid grid_;
};

TEST_F(ChunkLossesTest, EndOfDocumentBelongsToItsChunk) {
  const LossFile file(write_pass(grid_, directory_.path() / "pass.eval"));
  const ChunkLosses losses = chunk_losses(file, grid_);
  // Rows: tokens 0-3; 4-5 and the end; the full chunk of "wxyz" has no end; "q" and the end.
  EXPECT_EQ(losses.nats,
            (std::vector<double>{0 + 1 + 2 + 3, 4 + 5 + 1000, 10 + 11 + 12 + 13, 20 + 1000}));
  EXPECT_EQ(losses.bytes, (std::vector<int64_t>{4, 3, 4, 1}));
}

TEST_F(ChunkLossesTest, EveryShiftGivesTheSameTokensToTheSameChunks) {
  for (int64_t shift = 0; shift < kChunkLength; ++shift) {
    const ChunkGrid shifted = corpus_.grid(kChunkLength, shift);
    const LossFile file(
        write_pass(shifted, directory_.path() / fmt::format("shift{}.eval", shift)));
    const ChunkLosses losses = regrouped_losses(file, shifted, grid_);
    // Without end-of-document tokens, whatever the grid of the pass was.
    EXPECT_EQ(losses.nats, (std::vector<double>{0 + 1 + 2 + 3, 4 + 5, 10 + 11 + 12 + 13, 20}))
        << shift;
    EXPECT_EQ(losses.bytes, (std::vector<int64_t>{4, 3, 4, 1})) << shift;
  }
}

TEST_F(ChunkLossesTest, AChunkWithAnUnscoredTokenIsNotScored) {
  const ChunkGrid shifted = corpus_.grid(kChunkLength, 3);
  // Shifted rows of the first document: token 0; 1-4; 5. The last one begins beyond 4 and is left
  // out.
  const LossFile file(write_pass(shifted, directory_.path() / "pass.eval", 4));
  const ChunkLosses losses = regrouped_losses(file, shifted, grid_);
  EXPECT_EQ(losses.nats[0], 0 + 1 + 2 + 3);
  EXPECT_TRUE(std::isnan(losses.nats[1]));
}

TEST_F(ChunkLossesTest, LossesOfAnotherGridAreRefused) {
  const ChunkGrid shifted = corpus_.grid(kChunkLength, 1);
  const LossFile file(write_pass(shifted, directory_.path() / "pass.eval"));
  EXPECT_THROW(chunk_losses(file, grid_), Error);
  EXPECT_THROW(regrouped_losses(file, grid_, grid_), Error);
}

}  // namespace
}  // namespace retro
