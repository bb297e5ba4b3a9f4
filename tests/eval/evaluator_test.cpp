#include "retro/eval/evaluator.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/eval/row_groups.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::kEvalChunk;
using testing::kEvalSequence;
using testing::random_model;
using testing::TemporaryDirectory;
using testing::TinyCorpus;

/// The document's tokens with those before them in their window, worked out from the definition of
/// a stream.
class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest()
      : corpus_(TinyCorpus::of({"abcdefghij", "abcd", "xy==z", "klmnopqrstuvwxyzabcdefg"})),
        grid_(corpus_.grid(kEvalChunk)),
        model_(random_model(true, 1)) {}

  LossDescription description(const std::string& name = "pass") const {
    LossDescription description;
    description.column = {"baseline", 0, grid_.shift()};
    description.model = name;
    description.grid_hash = grid_.hash();
    description.chunk_length = kEvalChunk;
    description.sequence_length = kEvalSequence;
    return description;
  }

  std::filesystem::path run(const std::string& name, int64_t batch_size, int64_t cap,
                            double overlap = 0) {
    const EvaluationDataset dataset(grid_, ByteTokenizer::kEnd, kEvalSequence / kEvalChunk,
                                    overlap);
    const auto path = directory_.path() / (name + ".eval");
    evaluate_losses(model_, dataset, nullptr, description(name), {batch_size, cap, ""}, path);
    return path;
  }

  /// Every slot of the stream: the lead chunk, then each document's chunks with an end where there
  /// is room.
  struct Position {
    int32_t id = ByteTokenizer::kEnd;
    bool is_real = false;
    int64_t row = -1;
  };
  std::vector<Position> stream() const {
    std::vector<Position> positions(kEvalChunk);
    positions.back().is_real = true;
    for (int64_t row = 0; row < grid_.num_rows(); ++row) {
      const auto tokens = grid_.tokens(row);
      for (size_t i = 0; i < kEvalChunk; ++i) {
        Position position;
        if (i < tokens.size()) position.id = static_cast<int32_t>(tokens[i]);
        position.is_real = i <= tokens.size();
        position.row = position.is_real ? row : -1;
        positions.push_back(position);
      }
    }
    return positions;
  }

  TemporaryDirectory directory_;
  TinyCorpus corpus_;
  ChunkGrid grid_;
  RetroModel model_;
};

TEST_F(EvaluatorTest, LossesAreThoseOfTheModelInStreamOrder) {
  const LossFile file(run("pass", 2, 0));
  const auto positions = stream();
  const at::NoGradGuard no_grad;
  std::vector<int64_t> count(static_cast<size_t>(grid_.num_rows()), 0);
  for (size_t begin = 0; begin + 1 < positions.size(); begin += kEvalSequence) {
    at::Tensor ids = at::full({1, kEvalSequence}, ByteTokenizer::kEnd, at::kLong);
    at::Tensor real = at::zeros({1, kEvalSequence}, at::kBool);
    for (size_t i = 0; i < kEvalSequence && begin + i < positions.size(); ++i) {
      ids[0][static_cast<int64_t>(i)] = positions[begin + i].id;
      real[0][static_cast<int64_t>(i)] = positions[begin + i].is_real;
    }
    const at::Tensor log_softmax =
        at::log_softmax(model_->logits({ids, real, {}, {}, {}})[0].to(at::kDouble), 1);
    for (size_t i = 0; i < kEvalSequence && begin + i + 1 < positions.size(); ++i) {
      const Position& target = positions[begin + i + 1];
      if (target.row < 0) continue;
      const double expected = -log_softmax[static_cast<int64_t>(i)][target.id].item<double>();
      const auto place = static_cast<size_t>(count[static_cast<size_t>(target.row)]++);
      EXPECT_NEAR(file.token_nats(target.row)[place], expected, 1e-4) << target.row << " " << place;
    }
  }
}

TEST_F(EvaluatorTest, EveryTokenAndByteIsCountedOnce) {
  for (const double overlap : {0.0, 0.5, 0.75}) {
    const LossFile file(run("overlap" + std::to_string(overlap), 1, 0, overlap));
    for (int64_t row = 0; row < grid_.num_rows(); ++row) {
      const auto length = static_cast<int64_t>(grid_.tokens(row).size());
      int64_t scored = 0;
      for (const float nats : file.token_nats(row)) scored += std::isnan(nats) ? 0 : 1;
      // A short chunk scores the end of its document as well.
      EXPECT_EQ(scored, std::min<int64_t>(length + 1, kEvalChunk)) << row;
      int64_t bytes = 0;
      for (const uint16_t token_bytes : grid_.token_bytes(row)) bytes += token_bytes;
      EXPECT_EQ(file.bytes(row), bytes);
    }
  }
}

TEST_F(EvaluatorTest, BatchSizeChangesNothing) {
  const LossFile one(run("one", 1, 0));
  const LossFile many(run("many", 5, 0));
  for (int64_t row = 0; row < grid_.num_rows(); ++row)
    EXPECT_NEAR(one.nats(row), many.nats(row), 1e-4);
}

TEST_F(EvaluatorTest, TheCapScoresTheFirstChunksOnly) {
  const LossFile whole(run("whole", 2, 0));
  const LossFile capped(run("capped", 2, 2));
  for (int64_t row = 0; row < grid_.num_rows(); ++row) {
    const bool is_wanted = row - grid_.first_row(grid_.document_of_row(row)) < 2;
    EXPECT_EQ(capped.is_scored(row), is_wanted) << row;
    if (!is_wanted) continue;
    EXPECT_NEAR(capped.nats(row), whole.nats(row), 1e-4);
    EXPECT_EQ(capped.bytes(row), whole.bytes(row));
  }
}

TEST_F(EvaluatorTest, ACurrentFileIsLeftAlone) {
  const EvaluationDataset dataset(grid_, ByteTokenizer::kEnd, kEvalSequence / kEvalChunk);
  const auto path = directory_.path() / "pass.eval";
  EXPECT_GT(evaluate_losses(model_, dataset, nullptr, description("a"), {}, path), 0);
  EXPECT_EQ(evaluate_losses(model_, dataset, nullptr, description("a"), {}, path), 0);
  EXPECT_GT(evaluate_losses(model_, dataset, nullptr, description("b"), {}, path), 0);
  EXPECT_EQ(LossFile(path).description().model, "b");
}

TEST_F(EvaluatorTest, BrokenWeightsAreAnErrorAndLeaveNoFile) {
  const at::NoGradGuard no_grad;
  model_->output_weight().fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(run("broken", 1, 0), Error);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "broken.eval"));
}

}  // namespace
}  // namespace retro
