#include "retro/data/packed_stream.h"

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::TinyCorpus;

/// The document lengths at which a chunk of 4 tokens behaves differently: 1, m-1, m, m+1, 2m.
/// A slot as text: '$' stands for end of document, an upper-case mask of '0' and '1' for what is
/// real.
struct Layout {
  std::string ids;
  std::string real;
};

Layout layout_of(const PackedStream& stream, int64_t slot) {
  const SlotTokens tokens = slot_tokens(stream, slot, ByteTokenizer::kEnd);
  Layout out;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    out.ids += tokens.ids[i] == ByteTokenizer::kEnd ? '$' : static_cast<char>(tokens.ids[i]);
    out.real += tokens.is_real[i] != 0 ? '1' : '0';
  }
  return out;
}

void expect_slots(const PackedStream& stream, const std::vector<Layout>& expected) {
  ASSERT_EQ(stream.num_slots(), static_cast<int64_t>(expected.size()));
  for (size_t s = 0; s < expected.size(); ++s) {
    const Layout found = layout_of(stream, static_cast<int64_t>(s));
    EXPECT_EQ(found.ids, expected[s].ids) << "slot " << s;
    EXPECT_EQ(found.real, expected[s].real) << "slot " << s;
  }
}

TEST(PackedStream, LaysOutDocumentsOfEveryEdgeLength) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  expect_slots(PackedStream(grid, {0, 1, 2, 3, 4}), {{"$$$$", "0001"},
                                                     {"a$$$", "1100"},
                                                     {"bcd$", "1111"},
                                                     {"efgh", "1111"},
                                                     {"ijkl", "1111"},
                                                     {"m$$$", "1100"},
                                                     {"nopq", "1111"},
                                                     {"rstu", "1111"}});
}

TEST(PackedStream, ShiftedGridFillsTheFirstChunkOnTheLeft) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4, 1);
  expect_slots(PackedStream(grid, {0, 1, 2, 3, 4}), {{"$$$$", "0001"},
                                                     {"$a$$", "0110"},
                                                     {"$bcd", "0111"},
                                                     {"$efg", "0111"},
                                                     {"h$$$", "1100"},
                                                     {"$ijk", "0111"},
                                                     {"lm$$", "1110"},
                                                     {"$nop", "0111"},
                                                     {"qrst", "1111"},
                                                     {"u$$$", "1100"}});
}

TEST(PackedStream, FollowsTheGivenOrder) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  expect_slots(PackedStream(grid, {3, 0}),
               {{"$$$$", "0001"}, {"ijkl", "1111"}, {"m$$$", "1100"}, {"a$$$", "1100"}});
}

TEST(PackedStream, NumbersRowsAndDocuments) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const PackedStream stream(grid, {3, 0, 4});
  std::vector<int64_t> rows;
  std::vector<int64_t> documents;
  for (int64_t slot = 0; slot < 8; ++slot) {
    rows.push_back(stream.row(slot));
    documents.push_back(stream.document(slot));
  }
  // Rows of the grid: a 0, bcd 1, efgh 2, ijklm 3 4, nopqrstu 5 6.
  EXPECT_EQ(rows, (std::vector<int64_t>{kLeadChunk, 3, 4, 0, 5, 6, kFillChunk, kFillChunk}));
  EXPECT_EQ(documents, (std::vector<int64_t>{-1, 0, 0, 1, 2, 2, -1, -1}));
}

TEST(PackedStream, CountsSequences) {
  const TinyCorpus corpus = TinyCorpus::of(testing::kEdgeTexts);
  const ChunkGrid grid = corpus.grid(4);
  const PackedStream stream(grid, {0, 1, 2, 3, 4});  // 8 slots
  EXPECT_EQ(stream.num_sequences(1), 8);
  EXPECT_EQ(stream.num_sequences(2), 4);
  EXPECT_EQ(stream.num_sequences(3), 3);
  EXPECT_EQ(stream.num_sequences(9), 1);
}

TEST(PackedStream, KeepsTheBytesOfEveryToken) {
  const TinyCorpus corpus = TinyCorpus::of({"a==b"});
  const ChunkGrid grid = corpus.grid(4);
  const SlotTokens slot = slot_tokens(PackedStream(grid, {0}), 1, ByteTokenizer::kEnd);
  EXPECT_EQ(slot.ids, (std::vector<int32_t>{'a', ByteTokenizer::kPair, 'b', ByteTokenizer::kEnd}));
  EXPECT_EQ(slot.bytes, (std::vector<uint16_t>{1, 2, 1, 0}));
}

TEST(PackedStream, SlotsPastTheEndAreMasked) {
  const TinyCorpus corpus = TinyCorpus::of({"abcd"});
  const ChunkGrid grid = corpus.grid(4);
  const PackedStream stream(grid, {0});
  EXPECT_EQ(layout_of(stream, 2).real, "0000");
  EXPECT_EQ(layout_of(stream, 1'000'000'000'000).real, "0000");
}

TEST(PackedStream, WithoutDocumentsIsALeadChunk) {
  const TinyCorpus corpus = TinyCorpus::of({"abcd"});
  const ChunkGrid grid = corpus.grid(4);
  const PackedStream stream(grid, {});
  EXPECT_EQ(stream.num_slots(), 1);
  EXPECT_EQ(layout_of(stream, 0).real, "0001");
}

TEST(PackedStream, RefusesAnUnknownDocument) {
  const TinyCorpus corpus = TinyCorpus::of({"abcd"});
  const ChunkGrid grid = corpus.grid(4);
  EXPECT_THROW(PackedStream(grid, {1}), Error);
}

}  // namespace
}  // namespace retro
