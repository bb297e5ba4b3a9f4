#include "retro/eval/examples.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/json.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::kEvalChunk;
using testing::random_model;
using testing::TinyEvaluation;

std::string text_of(const std::vector<ExamplePiece>& pieces) {
  std::string text;
  for (const ExamplePiece& piece : pieces) text += piece.text;
  return text;
}

class ExamplesTest : public ::testing::Test {
 protected:
  ExamplesTest() : config_(TinyEvaluation::config()) {
    config_.documents = 0;
    RetroModel model = random_model(false, 1);
    run_column(model, {"off", 0, 0}, config_, evaluation_.inputs(), evaluation_.output());
    run_column(model, {"on", 2, 0}, config_, evaluation_.inputs(), evaluation_.output());
  }
  std::vector<ExampleChunk> examples() {
    return example_chunks(config_, evaluation_.inputs(), ByteTokenizer(), evaluation_.output());
  }
  TinyEvaluation evaluation_;
  EvalConfig config_;
};

TEST_F(ExamplesTest, PiecesAreTheChunkWithItsLosses) {
  const LossFile off(evaluation_.output() / "off.k0.s0.eval");
  const LossFile on(evaluation_.output() / "on.k2.s0.eval");
  const ChunkGrid& grid = evaluation_.grid();
  const auto list = examples();
  ASSERT_FALSE(list.empty());
  for (const ExampleChunk& example : list) {
    int64_t document = 0;
    while (grid.corpus().document(grid.document(document)).source != example.source ||
           grid.corpus().document(grid.document(document)).id != example.document) {
      ++document;
    }
    const int64_t row = grid.first_row(document) + example.chunk;
    const auto tokens = grid.tokens(row);
    EXPECT_EQ(text_of(example.pieces),
              ByteTokenizer().decode(std::vector<int32_t>(tokens.begin(), tokens.end())));
    ASSERT_EQ(example.pieces.size(), tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(example.pieces[i].nats_off, static_cast<double>(off.token_nats(row)[i]));
      EXPECT_EQ(example.pieces[i].nats_on, static_cast<double>(on.token_nats(row)[i]));
    }
    // Nobody can read at a document's first chunk, nor at a window's.
    EXPECT_GT(example.chunk, 0);
    EXPECT_NE((row + 1) % (testing::kEvalSequence / kEvalChunk), 0);
  }
}

TEST_F(ExamplesTest, NeighboursAreThoseOfTheChunkBefore) {
  const EvalInputs inputs = evaluation_.inputs();
  for (const ExampleChunk& example : examples()) {
    ASSERT_LE(example.neighbours.size(), 2u);
    for (const ExampleNeighbour& neighbour : example.neighbours) {
      std::vector<int32_t> value(2 * kEvalChunk);
      inputs.database->copy_value(neighbour.chunk_id, value);
      std::string text;
      for (const int32_t id : value)
        text += id < 0 ? std::string() : ByteTokenizer().decode({&id, 1});
      EXPECT_EQ(text_of(neighbour.chunk) + text_of(neighbour.continuation), text);
      EXPECT_EQ(neighbour.source, "stored");
      for (const ExamplePiece& piece : neighbour.chunk) EXPECT_TRUE(std::isnan(piece.nats_on));
    }
  }
}

TEST(ExamplePieces, ACharacterOfSeveralTokensIsOnePieceThatCountsThem) {
  const std::string text = "aż";  // one token a byte
  std::vector<MarkedToken> tokens;
  for (const int32_t id : ByteTokenizer().encode(text).ids)
    tokens.push_back({id, static_cast<int32_t>(tokens.size()) + 1, 1.0, 0.5});
  const auto pieces = example_pieces(tokens, ByteTokenizer());
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].num_tokens, 1);
  EXPECT_EQ(pieces[1].text, "ż");
  EXPECT_EQ(pieces[1].num_tokens, 2);
  EXPECT_EQ(pieces[1].run, 3);
  EXPECT_EQ(pieces[1].nats_off, 2.0);
}

TEST_F(ExamplesTest, TheirNumberIsCappedPerSourceAndTheFileIsJson) {
  config_.examples = 3;
  const auto list = examples();
  int64_t prose = 0;
  for (const ExampleChunk& example : list) prose += example.source == "prose" ? 1 : 0;
  EXPECT_EQ(prose, 3);
  const auto path = evaluation_.output() / "examples.json";
  write_examples(list, path);
  const auto json = read_json_file(path);
  ASSERT_EQ(json["examples"].size(), list.size());
  EXPECT_EQ(json["examples"][0]["pieces"][0]["text"], list[0].pieces[0].text);
  EXPECT_EQ(json["examples"][0]["pieces"][0]["num_tokens"], 1);
  EXPECT_TRUE(json["examples"][0]["neighbours"][0]["chunk"][0]["nats_on"].is_null());
}

TEST_F(ExamplesTest, WholeDocumentsHaveEveryScoredChunkAndPassagesOnlyWhereTheModelReadThem) {
  config_.examples = 0;
  config_.documents = 1;
  std::map<std::string, std::vector<int64_t>> chunks;
  const ChunkGrid& grid = evaluation_.grid();
  for (const ExampleChunk& example : examples()) {
    chunks[example.source + "/" + example.document].push_back(example.chunk);
    int64_t document = 0;
    while (grid.corpus().document(grid.document(document)).source != example.source ||
           grid.corpus().document(grid.document(document)).id != example.document) {
      ++document;
    }
    const int64_t row = grid.first_row(document) + example.chunk;
    const bool begins_window = (row + 1) % (testing::kEvalSequence / kEvalChunk) == 0;
    EXPECT_EQ(example.neighbours.empty(), example.chunk == 0 || begins_window) << row;
  }
  ASSERT_EQ(chunks.size(), 2u);  // one of each source
  for (const auto& [name, numbers] : chunks) {
    ASSERT_GE(numbers.size(), 3u);
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
  }
}

}  // namespace
}  // namespace retro
