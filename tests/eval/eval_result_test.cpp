#include "retro/eval/eval_result.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/json.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EvalResult result() {
  EvalResult out;
  out.split = "test";
  out.reference = "baseline.k0.s0";
  out.headline = "on.k2.s0";
  out.columns = {"baseline.k0.s0", "off.k0.s0", "on.k2.s0", "on.k2.s1"};
  out.chunk_length = 64;
  out.sequence_length = 512;
  out.max_chunks_per_document = 16;
  out.bootstrap_resamples = 2000;
  GroupResult group;
  group.source = "bible";
  group.documents = 40;
  group.chunks = 367;
  group.bytes = 93100;
  group.retrieval = {367, 1.0, 0.4118, 0.21};
  FilteredRow few;
  few.alpha = 0.125;
  few.chunks = 12;
  few.is_too_few = true;
  FilteredRow whole;
  whole.alpha = 1.0;
  whole.chunks = 367;
  whole.documents = 40;
  whole.systems = {{"baseline.k0.s0", 1.2985, {0, 0, 0}},
                   {"off.k0.s0", 1.3040, {-0.0055, -0.0079, -0.0031}},
                   {"on.k2.s0", 1.2674, {0.0311, 0.0271, 0.0351}}};
  whole.over_random = Interval{0.05, 0.04, 0.06};
  whole.random_over_off = Interval{-0.02, -0.03, -0.01};
  group.filtered = {few, whole};
  ShiftRow shift;
  shift.shift = 1;
  shift.chunks = 367;
  shift.documents = 40;
  shift.reference_bits_per_byte = 1.2990;
  shift.on_bits_per_byte = 1.3090;
  shift.gain = {-0.01, -0.021, 0.001};
  group.shifts = {shift};
  group.verdict = {VerdictKind::kCopied, "retrieval is copied: by position."};
  out.groups = {group, group};
  out.groups[1].source = "linux";
  out.groups[1].part = "new";
  out.notes = {"only the first 16 chunks"};
  return out;
}

TEST(EvalResultTest, JsonKeepsEveryFigure) {
  const std::string text = to_json(result());
  EXPECT_EQ(to_json(eval_result_from_json(text, "result.json")), text);
  const auto json = parse_json(text, "result.json");
  const auto& system = json["groups"][0]["filtered"][1]["systems"][2];
  EXPECT_EQ(system["column"], "on.k2.s0");
  EXPECT_EQ(system["bits_per_byte"], 1.2674);
  EXPECT_EQ(system["gain"]["low"], 0.0271);
  EXPECT_EQ(json["groups"][0]["filtered"][1]["over_random"]["high"], 0.06);
  EXPECT_EQ(json["groups"][0]["filtered"][1]["random_over_off"]["high"], -0.01);
  EXPECT_FALSE(json["groups"][0]["filtered"][0].contains("over_random"));
  EXPECT_FALSE(json["groups"][0]["filtered"][0].contains("random_over_off"));
  EXPECT_EQ(json["groups"][0]["shifts"][0]["documents"], 40);
  EXPECT_EQ(json["groups"][0]["verdict"]["kind"], "copied");
  EXPECT_EQ(json["groups"][1]["part"], "new");
}

TEST(EvalResultTest, NotANumberIsNull) {
  EvalResult out = result();
  out.groups[0].retrieval.mean_distance = std::nan("");
  const std::string text = to_json(out);
  EXPECT_TRUE(parse_json(text, "x")["groups"][0]["retrieval"]["mean_distance"].is_null());
  EXPECT_TRUE(std::isnan(eval_result_from_json(text, "x").groups[0].retrieval.mean_distance));
}

TEST(EvalResultTest, BrokenJsonNamesFileAndKey) {
  EXPECT_THROW(eval_result_from_json("{", "result.json"), Error);
  try {
    eval_result_from_json(R"({"version": 1})", "result.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("result.json"));
    EXPECT_THAT(error.what(), HasSubstr("split"));
  }
}

int columns_of(const std::string& line) {
  int count = 0;
  for (const char byte : line) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(EvalResultTest, TableSaysEverything) {
  const std::string table = format_result(result());
  EXPECT_THAT(table, HasSubstr("bible: 40 documents, 367 chunks, 93 kB"));
  EXPECT_THAT(table, HasSubstr("linux: new"));
  EXPECT_THAT(table,
              HasSubstr("367 queries, 100.0 % with a neighbour, mean squared distance 0.412"));
  EXPECT_THAT(table, HasSubstr("too few"));
  EXPECT_THAT(table, HasSubstr("+0.0311 ±0.0040*"));
  EXPECT_THAT(table, HasSubstr("retrieval is copied: by position."));
  EXPECT_THAT(table, HasSubstr("note: only the first 16 chunks"));
}

TEST(EvalResultTest, AFewDocumentsMarkNothingAsSignificant) {
  EvalResult out = result();
  for (GroupResult& group : out.groups) group.filtered[1].documents = 9;
  EXPECT_THAT(format_result(out), Not(HasSubstr("±0.0040*")));
  for (GroupResult& group : out.groups) group.filtered[1].documents = 10;
  EXPECT_THAT(format_result(out), HasSubstr("±0.0040*"));
}

TEST(EvalResultTest, TableFitsAHundredColumnsAndAligns) {
  const auto lines = lines_of(format_result(result()));
  const auto group = std::find_if(lines.begin(), lines.end(),
                                  [](const auto& line) { return line.starts_with("bible: "); });
  ASSERT_GE(lines.end() - group, 9);
  // Head, chunks, three systems, gain and its interval: all end in the same column.
  for (int64_t i = 2; i < 9; ++i) EXPECT_EQ(columns_of(group[i]), columns_of(group[2])) << group[i];
  for (const std::string& line : lines) EXPECT_LE(columns_of(line), 100) << line;
}

}  // namespace
}  // namespace retro
