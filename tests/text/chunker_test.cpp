#include "retro/text/chunker.h"

#include <gmock/gmock.h>

#include "text_test_support.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::spill;

TEST(NumChunks, SizesAroundTheChunk) {
  const std::pair<int64_t, int64_t> cases[] = {{0, 0},  {1, 1},   {63, 1},  {64, 1},
                                               {65, 2}, {127, 2}, {128, 2}, {129, 3}};
  for (const auto& [tokens, chunks] : cases) EXPECT_EQ(num_chunks(tokens, 64), chunks) << tokens;
  EXPECT_EQ(num_chunks(5, 1), 5);
  EXPECT_EQ(num_chunks(int64_t{1} << 40, 64), int64_t{1} << 34);
}

TEST(NumChunks, ShiftedGrid) {
  // m = 4, s = 1: chunks of 3, 4, 4, ... tokens.
  const std::pair<int64_t, int64_t> cases[] = {{0, 0}, {1, 1}, {3, 1},  {4, 2},
                                               {7, 2}, {8, 3}, {11, 3}, {12, 4}};
  for (const auto& [tokens, chunks] : cases) EXPECT_EQ(num_chunks(tokens, 4, 1), chunks) << tokens;
}

std::vector<std::pair<int64_t, int64_t>> spans(int64_t tokens, int64_t length, int64_t shift) {
  std::vector<std::pair<int64_t, int64_t>> found;
  for (int64_t c = 0; c < num_chunks(tokens, length, shift); ++c) {
    const ChunkSpan span = chunk_span(tokens, length, c, shift);
    found.emplace_back(span.first_token, span.length);
  }
  return found;
}

TEST(ChunkSpan, ByHand) {
  using Span = std::pair<int64_t, int64_t>;
  EXPECT_THAT(spans(9, 4, 0), ElementsAre(Span(0, 4), Span(4, 4), Span(8, 1)));
  EXPECT_THAT(spans(8, 4, 0), ElementsAre(Span(0, 4), Span(4, 4)));
  EXPECT_THAT(spans(9, 4, 1), ElementsAre(Span(0, 3), Span(3, 4), Span(7, 2)));
  EXPECT_THAT(spans(9, 4, 3), ElementsAre(Span(0, 1), Span(1, 4), Span(5, 4)));
  EXPECT_THAT(spans(2, 4, 1), ElementsAre(Span(0, 2)));
}

TEST(ChunkSpan, Errors) {
  EXPECT_EQ(error_of([] { chunk_span(9, 4, 3); }), "chunk 3 of a document of 9 tokens: it has 3");
  EXPECT_EQ(error_of([] { chunk_span(9, 4, -1); }), "chunk -1 of a document of 9 tokens: it has 3");
  EXPECT_EQ(error_of([] { num_chunks(9, 0); }), "chunk length is 0, expected at least 1");
  EXPECT_EQ(error_of([] { num_chunks(9, 4, 4); }), "shift of the chunk grid is 4, expected 0 to 3");
}

/// Documents of 5, 1, 4 and 8 tokens.
class ChunkGridTest : public ::testing::Test {
 protected:
  ChunkGridTest() {
    spill(scratch_ / "in.jsonl",
          "{\"text\": \"abcde\"}\n{\"text\": \"f\"}\n{\"text\": \"ghij\"}\n{\"text\": "
          "\"klmnopqr\"}\n");
    CorpusConfig config;
    config.sources.resize(1);
    config.sources[0].name = "letters";
    config.sources[0].path = (scratch_ / "in.jsonl").string();
    config.sources[0].kind = "database";
    build_token_corpus(config, ByteTokenizer(), 1, 1, scratch_ / "corpus");
    corpus_.emplace(scratch_ / "corpus");
  }
  std::vector<std::string> chunks(const ChunkGrid& grid) {
    std::vector<std::string> texts;
    for (int64_t row = 0; row < grid.num_rows(); ++row) {
      texts.push_back(chunk_text(ByteTokenizer(), grid.tokens(row)));
      EXPECT_EQ(grid.token_bytes(row).size(), grid.tokens(row).size());
      EXPECT_EQ(grid.span(row).length, static_cast<int64_t>(grid.tokens(row).size()));
    }
    return texts;
  }
  ScratchDirectory scratch_;
  std::optional<TokenCorpus> corpus_;
};

TEST_F(ChunkGridTest, RowsFollowTheDocuments) {
  const ChunkGrid grid(*corpus_, {0, 1, 2, 3}, 4);
  EXPECT_THAT(chunks(grid), ElementsAre("abcd", "e", "f", "ghij", "klmn", "opqr"));
  std::vector<int64_t> documents;
  for (int64_t row = 0; row < grid.num_rows(); ++row)
    documents.push_back(grid.document_of_row(row));
  EXPECT_THAT(documents, ElementsAre(0, 0, 1, 2, 3, 3));
  EXPECT_EQ(grid.first_row(3), 4);
  EXPECT_EQ(grid.num_documents(), 4);
}

TEST_F(ChunkGridTest, ChosenDocuments) {
  const ChunkGrid grid(*corpus_, {3, 1}, 4);
  EXPECT_THAT(chunks(grid), ElementsAre("klmn", "opqr", "f"));
  EXPECT_EQ(grid.document_of_row(2), 1);
  EXPECT_EQ(grid.document(0), 3);
  EXPECT_EQ(ChunkGrid(*corpus_, {}, 4).num_rows(), 0);
}

TEST_F(ChunkGridTest, ShiftedAndCapped) {
  EXPECT_THAT(chunks(ChunkGrid(*corpus_, {0, 1, 3}, 4, 2)),
              ElementsAre("ab", "cde", "f", "kl", "mnop", "qr"));
  EXPECT_THAT(chunks(ChunkGrid(*corpus_, {0, 1, 3}, 4, 0, 5)),
              ElementsAre("abcd", "e", "f", "klmn", "o"));
  EXPECT_THAT(chunks(ChunkGrid(*corpus_, {3}, 4, 1, 5)), ElementsAre("klm", "no"));
}

TEST_F(ChunkGridTest, HashNamesWhatTheRowsDependOn) {
  const std::string hash = ChunkGrid(*corpus_, {0, 1}, 4).hash();
  EXPECT_EQ(ChunkGrid(*corpus_, {0, 1}, 4).hash(), hash);
  EXPECT_NE(ChunkGrid(*corpus_, {1, 0}, 4).hash(), hash);
  EXPECT_NE(ChunkGrid(*corpus_, {0, 1}, 5).hash(), hash);
  EXPECT_NE(ChunkGrid(*corpus_, {0, 1}, 4, 1).hash(), hash);
  EXPECT_NE(ChunkGrid(*corpus_, {0, 1}, 4, 0, 3).hash(), hash);
}

TEST_F(ChunkGridTest, Errors) {
  EXPECT_EQ(error_of([&] { ChunkGrid(*corpus_, {4}, 4); }), "document 4 of a corpus of 4");
  EXPECT_EQ(error_of([&] { ChunkGrid(*corpus_, {0}, 4).tokens(2); }), "row 2 of a chunk grid of 2");
  EXPECT_EQ(error_of([&] { ChunkGrid(*corpus_, {0}, 4).span(-1); }), "row -1 of a chunk grid of 2");
  EXPECT_THAT(error_of([&] { ChunkGrid(*corpus_, {0}, 0); }), HasSubstr("chunk length is 0"));
}

TEST(ChunkText, BrokenCharactersAtTheEnds) {
  const uint32_t tokens[] = {0x82, 0xAC, 'a', 0xE2};
  EXPECT_EQ(chunk_text(ByteTokenizer(), tokens),
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace retro
