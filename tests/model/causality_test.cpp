// Who can move which logit, by gradient.
#include "model_test_support.h"

namespace retro::testing {
namespace {

constexpr int64_t kLength = 14;  // m = 4: three chunks and a partial one
constexpr int64_t kNeighbours = 2;

/// For each row of an embedding's gradient: is any element not exactly zero?
std::vector<bool> moved_rows(const torch::Tensor& gradient, int64_t count) {
  std::vector<bool> moved;
  for (int64_t row = 0; row < count; ++row) moved.push_back(gradient[row].ne(0).any().item<bool>());
  return moved;
}

class Causality : public ::testing::Test {
 protected:
  ModelConfig config_ = small_config();
  RetroModel model_ = random_model(config_);
  ModelInput input_ = numbered_input(config_, kLength, kNeighbours);
};

TEST_F(Causality, PositionSeesItselfAndWhatIsBefore) {
  const torch::Tensor logits = model_->logits(input_);
  const int64_t m = config_.chunk_length;
  for (const int64_t position : {int64_t{0}, m - 2, m - 1, m, 2 * m - 1, 2 * m, kLength - 1}) {
    const auto moved =
        moved_rows(gradient(model_, probe(logits, position), "decoder.embed.weight"), kLength);
    for (int64_t token = 0; token < kLength; ++token) {
      EXPECT_EQ(moved[static_cast<size_t>(token)], token <= position)
          << "token " << token << ", position " << position;
    }
  }
}

/// The neighbours of chunk u reach the last token of chunk u and everything behind it, nothing
/// before.
TEST_F(Causality, NeighboursReachTheirAttendingRowsOnwards) {
  const torch::Tensor logits = model_->logits(input_);
  const int64_t m = config_.chunk_length;
  const int64_t per_chunk = kNeighbours * 2 * m;
  for (int64_t position = 0; position < kLength; ++position) {
    const auto moved = moved_rows(gradient(model_, probe(logits, position), "encoder.embed.weight"),
                                  kLength / m * per_chunk);
    for (int64_t row = 0; row < static_cast<int64_t>(moved.size()); ++row) {
      const int64_t chunk = row / per_chunk;
      EXPECT_EQ(moved[static_cast<size_t>(row)], position >= (chunk + 1) * m - 1)
          << "retrieved token " << row << ", position " << position;
    }
  }
}

/// With CCA in the last layer only, nothing is passed on: exactly the m attending rows move.
TEST_F(Causality, CrossAttentionOfTheLastLayerReachesExactlyItsRows) {
  config_.cca_layers = {2};
  model_ = random_model(config_);
  const torch::Tensor logits = model_->logits(input_);
  const int64_t m = config_.chunk_length;
  for (int64_t position = 0; position < kLength; ++position) {
    const auto moved = moved_rows(gradient(model_, probe(logits, position), "encoder.embed.weight"),
                                  kLength / m * kNeighbours * 2 * m);
    for (int64_t chunk = 0; chunk < kLength / m; ++chunk) {
      const bool attends = position >= (chunk + 1) * m - 1 && position < (chunk + 2) * m - 1;
      EXPECT_EQ(moved[static_cast<size_t>(chunk * kNeighbours * 2 * m)], attends)
          << "chunk " << chunk << ", position " << position;
    }
  }
}

TEST_F(Causality, FirstPositionsAreExactlyUntouched) {
  const int64_t m = config_.chunk_length;
  const torch::Tensor on = model_->logits(input_);
  const torch::Tensor off = model_->logits(without_retrieval(input_));
  EXPECT_TRUE(torch::equal(on.slice(1, 0, m - 1), off.slice(1, 0, m - 1)));
  EXPECT_GT(largest_difference(on.select(1, m - 1), off.select(1, m - 1)), 1e-3);
}

}  // namespace
}  // namespace retro::testing
