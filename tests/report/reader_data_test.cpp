#include "reader_data.h"

#include <gtest/gtest.h>

namespace retro {
namespace {

Json piece(const char* text, int run, Json off = nullptr, Json on = nullptr) {
  return {{"text", text}, {"run", run}, {"nats_off", std::move(off)}, {"nats_on", std::move(on)}};
}

Json example(const char* document, int chunk, const char* part = "") {
  return {
      {"source", "s"},  {"part", part},   {"document", document},    {"title", "T"},
      {"chunk", chunk}, {"overlap", 0.5}, {"pieces", Json::array()}, {"neighbours", Json::array()}};
}

TEST(ReaderData, GroupsChunksByDocumentInReadingOrderEachOnce) {
  const Json data = reader_data(
      {{"examples", {example("b", 3), example("a", 0), example("b", 1), example("b", 3, "new")}}});
  ASSERT_EQ(data["documents"].size(), 2u);
  const Json& b = data["documents"][0];
  EXPECT_EQ(b["id"], "b");
  EXPECT_EQ(b["part"], "new");
  ASSERT_EQ(b["chunks"].size(), 2u);
  EXPECT_EQ(b["chunks"][0]["n"], 1);
  EXPECT_EQ(b["chunks"][1]["n"], 3);
}

TEST(ReaderData, EveryPieceOfARunHasItsLengthAndShortRunsNone) {
  Json chunk = example("a", 0);
  chunk["pieces"] = {piece("p", 1, 2.0, 0.5), piece("q", 2, 1.0, 1.25),
                     piece("r", 3),           piece("s", 0),
                     piece("t", 1),           piece("u", 2)};
  const Json data = reader_data({{"examples", {chunk}}});
  const Json& shown = data["documents"][0]["chunks"][0];
  EXPECT_EQ(shown["run"], Json({3, 3, 3, 0, 0, 0}));
  EXPECT_EQ(shown["saved"], Json({1500, -250, nullptr, nullptr, nullptr, nullptr}));
  EXPECT_EQ(shown["off"][0], 2000);
}

// "ó" and "ł" are two tokens each, one a byte: a run of five tokens that ends with the second of
// them is three pieces long.
TEST(ReaderData, RunsCountTokensNotPieces) {
  const auto joined = [](const char* text, int num_tokens, int run) {
    Json whole = piece(text, run);
    whole["num_tokens"] = num_tokens;
    return whole;
  };
  Json chunk = example("a", 0);
  chunk["pieces"] = {joined("x", 1, 0), joined("k", 1, 0), joined("r", 1, 1),
                     joined("ó", 2, 3), joined("ł", 2, 5), joined("y", 1, 0)};
  const Json data = reader_data({{"examples", {chunk}}});
  EXPECT_EQ(data["documents"][0]["chunks"][0]["run"], Json({0, 0, 5, 5, 5, 0}));
}

TEST(ReaderData, PassagesAreStretchesOfEqualRuns) {
  Json chunk = example("a", 1);
  chunk["neighbours"] = Json::array(
      {{{"source", "db"},
        {"title", "N"},
        {"distance", 1.5},
        {"chunk", {piece("x ", 0), piece("a", 1), piece("b", 2), piece("c", 3), piece("d", 4)}},
        {"continuation", Json::array()}}});
  const Json found =
      reader_data({{"examples", {chunk}}})["documents"][0]["chunks"][0]["neighbours"][0];
  EXPECT_EQ(found["text"], Json::parse(R"([["x ", 0], ["abcd", 4]])"));
  EXPECT_EQ(found["next"], Json::array());
  EXPECT_EQ(found["distance"], 1.5);
}

TEST(ReaderData, NothingGivesNothing) { EXPECT_TRUE(reader_data({})["documents"].empty()); }

}  // namespace
}  // namespace retro
