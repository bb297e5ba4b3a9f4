#include "retro/eval/knn_passes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/eval/evaluator.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::kEvalChunk;
using testing::kEvalSequence;
using testing::random_model;
using testing::TemporaryDirectory;
using testing::TinyCorpus;
using testing::TinyDatabase;
using testing::TinySource;

class KnnPasses : public ::testing::Test {
 protected:
  KnnPasses()
      : stored_(std::vector<TinySource>{{"stored", {"the cat sat on a mat", "one two three"}}}),
        evaluated_(std::vector<TinySource>{{"text", {"the cat sat", "four"}}}),
        stored_grid_(stored_.grid(kEvalChunk)),
        grid_(evaluated_.grid(kEvalChunk)),
        database_(stored_grid_, directory_.path() / "base"),
        stored_table_(database_.table(stored_grid_, Exclusion::kDocument, 2, "stored")),
        table_(database_.table(grid_, Exclusion::kDocument, 2, "table")),
        stored_source_(stored_table_, database_.database()),
        source_(table_, database_.database()),
        stored_data_(stored_grid_, ByteTokenizer::kEnd, kEvalSequence / kEvalChunk),
        data_(grid_, ByteTokenizer::kEnd, kEvalSequence / kEvalChunk),
        model_(random_model(false, 3)) {}

  KnnPass stored_pass() { return {&model_, &stored_data_, &stored_source_, 2, 2, "datastore"}; }
  KnnPass pass() { return {&model_, &data_, &source_, 2, 1, "text"}; }
  Datastore datastore(const std::string& made_from = std::string(32, 'a')) {
    return {stored_pass(), made_from, directory_.path() / "datastore"};
  }
  static KnnConfig config() {
    KnnConfig config;
    config.neighbours = 5;
    config.rerank_factor = 2;
    return config;
  }

  TemporaryDirectory directory_;
  TinyCorpus stored_, evaluated_;
  ChunkGrid stored_grid_, grid_;
  TinyDatabase database_;
  NeighbourTable stored_table_, table_;
  TableNeighbours stored_source_, source_;
  EvaluationDataset stored_data_, data_;
  RetroModel model_;
};

TEST_F(KnnPasses, EveryTargetOfTheTextIsAnEntry) {
  const Datastore store = datastore();
  // 20 and 13 letters; both have room for an end-of-document token in the last chunk, or none.
  std::string text;
  for (int64_t entry = 0; entry < store.num_entries(); ++entry) {
    const int32_t token = store.token(entry);
    text += token == ByteTokenizer::kEnd ? '|' : static_cast<char>(token);
  }
  EXPECT_EQ(text, "the cat sat on a matone two three|");  // 20 fill their chunks, 13 do not
  EXPECT_EQ(store.states().columns(), 16u);
}

TEST_F(KnnPasses, ACurrentDatastoreIsNotMadeAgain) {
  (void)datastore();
  const auto written = std::filesystem::last_write_time(directory_.path() / "datastore/tokens.bin");
  (void)datastore();
  EXPECT_EQ(std::filesystem::last_write_time(directory_.path() / "datastore/tokens.bin"), written);
  (void)datastore(std::string(32, 'b'));
  EXPECT_NE(std::filesystem::last_write_time(directory_.path() / "datastore/tokens.bin"), written);
}

TEST_F(KnnPasses, TheBaseIsTheEvaluatorsExactly) {
  const Datastore store = datastore();
  const VectorIndex index(store.states(), {}, 1, 1);
  const KnnTokens tokens = look_up(pass(), store, index, config(), 0, 2);
  LossDescription description;
  description.column = {"on", 2, 0};
  description.grid_hash = grid_.hash();
  description.chunk_length = kEvalChunk;
  description.sequence_length = kEvalSequence;
  const auto path = directory_.path() / "on.k2.s0.eval";
  PassOptions options;
  options.batch_size = 1;
  evaluate_losses(model_, data_, &source_, description, options, path);
  const LossFile file(path);
  std::vector<double> expected;
  for (int64_t row = 0; row < file.num_rows(); ++row) {
    for (const float nats : file.token_nats(row)) {
      if (!std::isnan(nats)) expected.push_back(static_cast<double>(nats));
    }
  }
  EXPECT_EQ(tokens.nats, expected);
  EXPECT_EQ(knn_nats(tokens, KnnDistances::kExact, {0, 1}), expected);
  ASSERT_EQ(tokens.exact_TK.size(), expected.size() * 5);
  ASSERT_EQ(tokens.approximate_is_target_TK.size(), expected.size() * 5);
}

TEST_F(KnnPasses, AStoredTextFindsItself) {
  const Datastore store = datastore();
  const VectorIndex index(store.states(), {}, 1, 1);
  const KnnTokens tokens = look_up(stored_pass(), store, index, config(), 0, 1);
  ASSERT_EQ(static_cast<int64_t>(tokens.size()), store.num_entries());
  for (size_t t = 0; t < tokens.size(); ++t) {
    EXPECT_EQ(tokens.exact_TK[5 * t], 0.0F) << t;
    EXPECT_EQ(tokens.exact_is_target_TK[5 * t], 1) << t;
    EXPECT_LE(tokens.exact_TK[5 * t], tokens.exact_TK[5 * t + 4]);
  }
  // A text that was stored is predicted by heart.
  const KnnSetting setting = tune_knn(tokens, KnnDistances::kExact, 1);
  EXPECT_GE(setting.lambda, 0.8);
}

}  // namespace
}  // namespace retro
