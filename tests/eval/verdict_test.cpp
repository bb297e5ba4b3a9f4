#include "retro/eval/verdict.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

using ::testing::HasSubstr;

Interval around(double estimate, double half_width) {
  return {estimate, estimate - half_width, estimate + half_width};
}

FilteredRow row(double alpha, Interval gain) {
  FilteredRow result;
  result.alpha = alpha;
  result.chunks = 400;
  result.documents = 38;
  result.systems = {{"off.k0.s0", 1.3, around(-0.005, 0.001)}, {"on.k1.s0", 1.26, gain}};
  return result;
}

FilteredRow too_few(double alpha, int64_t chunks = 19) {
  FilteredRow result;
  result.alpha = alpha;
  result.chunks = chunks;
  result.documents = std::min<int64_t>(chunks, 5);
  result.is_too_few = true;
  return result;
}

ShiftRow shift(int64_t tokens, double alpha, Interval gain) {
  ShiftRow result;
  result.shift = tokens;
  result.alpha = alpha;
  result.chunks = 400;
  result.documents = 38;
  result.gain = gain;
  return result;
}

/// Reading: a gain at every overlap and shift.
GroupResult read_group() {
  GroupResult group;
  group.source = "bible";
  group.documents = 40;
  group.chunks = 500;
  group.filtered = {too_few(0.125), row(0.25, around(0.027, 0.004)), row(0.5, around(0.030, 0.004)),
                    row(1.0, around(0.032, 0.004))};
  for (const double alpha : {0.5, 1.0}) {
    for (const int64_t tokens : {0, 1, 2, 4, 8, 16})
      group.shifts.push_back(shift(tokens, alpha, around(0.03, 0.004)));
    group.shifts.push_back(shift(32, alpha, around(0.002, 0.004)));
  }
  return group;
}

Verdict judge(const GroupResult& group) { return verdict_of(group, "on.k1.s0", {}); }

TEST(VerdictTest, AGainAtLowOverlapAndShiftedGridsIsRead) {
  const Verdict verdict = judge(read_group());
  EXPECT_EQ(verdict.kind, VerdictKind::kRead);
  EXPECT_THAT(verdict.sentence, HasSubstr("retrieval is read"));
  EXPECT_THAT(verdict.sentence, HasSubstr("at most 50 %"));
  EXPECT_THAT(verdict.sentence, HasSubstr("by up to 16 tokens"));
}

TEST(VerdictTest, WhatRandomNeighboursBringAsWellIsNoRetrieval) {
  GroupResult group = read_group();
  for (FilteredRow& row : group.filtered) {
    if (!row.is_too_few) row.over_random = around(0.0001, 0.0002);
  }
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kNothing);
  EXPECT_THAT(verdict.sentence, HasSubstr("random neighbours bring as much"));
  group.filtered.back().over_random = around(0.03, 0.004);
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
  EXPECT_THAT(judge(group).sentence, HasSubstr("random ones bring as much"));
  for (FilteredRow& row : group.filtered) row.over_random = around(0.029, 0.004);
  EXPECT_EQ(judge(group).kind, VerdictKind::kRead);
  EXPECT_THAT(judge(group).sentence, HasSubstr("0.0010 of which random neighbours bring as well"));
}

TEST(VerdictTest, WhatIsNotSeenOverAllChunksIsNotReadInSome) {
  GroupResult group = read_group();
  for (FilteredRow& row : group.filtered) row.over_random = around(0.029, 0.004);
  ASSERT_EQ(judge(group).kind, VerdictKind::kRead);
  group.filtered.back().over_random = around(0.0004, 0.0005);
  EXPECT_EQ(judge(group).kind, VerdictKind::kNothing);
}

TEST(VerdictTest, OfAGainThatIsMostlyRandomTheRightNeighboursShareIsSaid) {
  GroupResult group = read_group();
  for (FilteredRow& row : group.filtered) row.over_random = around(0.029, 0.004);
  EXPECT_THAT(judge(group).sentence, HasSubstr("retrieval is read: "));
  group.filtered[2].over_random = around(0.004, 0.001);
  for (ShiftRow& row : group.shifts) row.gain = around(0.05, 0.004);
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kRead);
  EXPECT_THAT(verdict.sentence, HasSubstr("retrieval is read a little: "));
  EXPECT_THAT(verdict.sentence,
              HasSubstr("the right ones only 0.0040 (95 % interval +0.0030 to +0.0050)"));
}

TEST(VerdictTest, ShiftedWhatRandomNeighboursBringIsNotKept) {
  GroupResult group = read_group();  // 0.030 at low overlap, 0.03 when shifted
  for (FilteredRow& row : group.filtered) row.over_random = around(0.002, 0.001);
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
}

TEST(VerdictTest, AGainThatDiesWithOneTokenIsCopied) {
  GroupResult group = read_group();
  for (ShiftRow& row : group.shifts) {
    if (row.shift > 0) row.gain = around(-0.01, 0.004);
  }
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kCopied);
  EXPECT_THAT(verdict.sentence, HasSubstr("moved by 1 token the gain"));
}

TEST(VerdictTest, AGainThatDiesWithinTheTestedShiftsIsCopied) {
  GroupResult group = read_group();
  for (ShiftRow& row : group.shifts) {
    if (row.shift == 8 && row.alpha == 0.5) row.gain = around(0.003, 0.004);
  }
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
}

TEST(VerdictTest, AGainOfHighOverlapOnlyIsCopied) {
  GroupResult group = read_group();
  group.filtered[2] = row(0.5, around(0.003, 0.004));
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
  group.filtered[1] = too_few(0.25);
  group.filtered[2] = too_few(0.5);
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kCopied);
  EXPECT_THAT(verdict.sentence, HasSubstr("nearly every chunk stands word for word"));
  EXPECT_THAT(verdict.sentence, HasSubstr("only 19 of 500 share 50 %"));
}

// What one document gains is not what the model does.
TEST(VerdictTest, ReadingIsSeenOverAsManyDocumentsAsAVerdictNeeds) {
  GroupResult group = read_group();
  group.filtered[2].documents = 1;
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kUndecided);
  EXPECT_THAT(verdict.sentence, HasSubstr("over only 1 document, too few"));
  group.filtered[2].documents = 29;
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  group.filtered[2].documents = 30;
  EXPECT_EQ(judge(group).kind, VerdictKind::kRead);
  for (ShiftRow& row : group.shifts) {
    if (row.shift == 4 && row.alpha == 0.5) row.documents = 2;
  }
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
}

// Neither is what two documents lose: the shift test over all of them has to say so.
TEST(VerdictTest, CopyingIsNotSeenInAFewDocuments) {
  GroupResult group = read_group();
  group.filtered[2] = row(0.5, around(-0.1, 0.01));
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
  group.filtered[2].documents = 2;
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  EXPECT_THAT(judge(group).sentence, HasSubstr("of 2 documents share at most 50 %"));
  for (ShiftRow& row : group.shifts) {
    if (row.shift >= 2 && row.alpha == 1.0) row.gain = around(-0.02, 0.004);
  }
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kCopied);
  EXPECT_THAT(verdict.sentence, HasSubstr("moved by 2 tokens the gain is gone"));
}

TEST(VerdictTest, AnIntervalThatHoldsTheWholeGainShowsNoCopying) {
  GroupResult group = read_group();
  group.shifts.clear();
  group.filtered = {row(0.5, around(0.035, 0.045)), row(1.0, around(0.032, 0.004))};
  group.filtered.front().documents = 12;
  group.filtered.front().chunks = 150;
  const Verdict verdict = judge(group);
  EXPECT_EQ(verdict.kind, VerdictKind::kUndecided);
  EXPECT_THAT(verdict.sentence, HasSubstr("the interval is too wide"));
  group.filtered.front() = row(0.5, around(0.0, 0.01));
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
}

TEST(VerdictTest, OverlapThatWasNotMeasuredIsNotVerbatim) {
  GroupResult group = read_group();
  const auto only = [&group](std::vector<FilteredRow> rows) {
    group.filtered = std::move(rows);
    return judge(group);
  };
  const FilteredRow all = row(1.0, around(0.032, 0.004));
  for (const Verdict& verdict :
       {only({all}), only({row(0.75, around(0.03, 0.004)), all}), only({too_few(0.125), all}),
        only({row(0.125, around(0.001, 0.004)), all})}) {
    EXPECT_EQ(verdict.kind, VerdictKind::kUndecided);
    EXPECT_THAT(verdict.sentence, HasSubstr("no overlap near 50 % was evaluated"));
  }
}

TEST(VerdictTest, NearlyEveryChunkIsMoreThanNineOfTen) {
  GroupResult group = read_group();
  group.filtered[2] = too_few(0.5);
  group.chunks = 40;  // 19 of them share little: half of the text is no copy
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  EXPECT_THAT(judge(group).sentence, HasSubstr("only 19 chunks of 5 documents"));
  group.chunks = 190;
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  group.chunks = 191;
  EXPECT_EQ(judge(group).kind, VerdictKind::kCopied);
}

TEST(VerdictTest, NoGainIsNothing) {
  GroupResult group = read_group();
  for (FilteredRow& filtered : group.filtered) {
    if (!filtered.is_too_few) filtered.systems[1].gain = around(0.001, 0.002);
  }
  EXPECT_EQ(judge(group).kind, VerdictKind::kNothing);
  group.filtered.back().systems[1].gain = around(-0.053, 0.002);
  const Verdict worse = judge(group);
  EXPECT_EQ(worse.kind, VerdictKind::kNothing);
  EXPECT_THAT(worse.sentence, HasSubstr("worse than the baseline"));
}

TEST(VerdictTest, LittleDataOrNoShiftTestDecidesNothing) {
  GroupResult group = read_group();
  group.documents = 29;
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  group = read_group();
  group.shifts.clear();
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
  group.filtered = {too_few(1.0)};
  EXPECT_EQ(judge(group).kind, VerdictKind::kUndecided);
}

TEST(VerdictTest, NothingSaysWhatRetrievalOffGives) {
  GroupResult group = read_group();
  group.filtered.back() = row(1.0, around(-0.006, 0.002));
  group.filtered[2] = row(0.5, around(-0.006, 0.002));
  EXPECT_THAT(judge(group).sentence, HasSubstr("retrieval off: -0.0050"));
}

TEST(VerdictTest, AllTogetherSumsUpTheSources) {
  std::vector<GroupResult> groups(5);
  groups[0].source = "bible";
  groups[0].verdict.kind = VerdictKind::kRead;
  groups[1].source = "linux";
  groups[1].verdict.kind = VerdictKind::kCopied;
  groups[2].source = "linux";
  groups[2].part = "new";
  groups[2].verdict.kind = VerdictKind::kNothing;
  groups[3].source = "manual";
  groups[3].verdict.kind = VerdictKind::kCopied;
  groups[4].source = "all";
  const Verdict verdict = combined_verdict(groups);
  EXPECT_EQ(verdict.kind, VerdictKind::kMixed);
  EXPECT_EQ(verdict.sentence, "by source: retrieval is read in bible; copied in linux, manual.");
}

TEST(VerdictTest, NamesAreReadBack) {
  for (const auto kind : {VerdictKind::kRead, VerdictKind::kCopied, VerdictKind::kNothing,
                          VerdictKind::kUndecided, VerdictKind::kMixed}) {
    EXPECT_EQ(parse_verdict(verdict_name(kind)), kind);
  }
  EXPECT_THROW(parse_verdict("maybe"), Error);
}

}  // namespace
}  // namespace retro
