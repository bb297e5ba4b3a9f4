#include "sections.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json some_gain(double estimate) {
  return {{"estimate", estimate}, {"low", estimate - 0.01}, {"high", estimate + 0.01}};
}

TEST(BreakdownSection, RowsOfTooLittleTextShowNoFigures) {
  const Json systems =
      Json::array({{{"column", "off.k0.s0"}, {"bits_per_byte", 7.125}, {"gain", some_gain(-0.5)}},
                   {{"column", "on.k2.s0"}, {"bits_per_byte", 6.5}, {"gain", some_gain(0.625)}}});
  const auto row = [&](bool is_too_few) {
    return Json{
        {"source", "all"}, {"share", 0.5}, {"is_too_few", is_too_few}, {"systems", systems}};
  };
  RunFiles run;
  run.breakdown = {{"windows", Json::array({row(true)})}};
  const std::string few = breakdown_html(run);
  EXPECT_THAT(few, HasSubstr("<th scope=row>50 %</th><td>too few</td><td>too few</td>"));
  EXPECT_THAT(few, Not(HasSubstr("7.125")));
  EXPECT_THAT(few, Not(HasSubstr("<svg")));
  run.breakdown = {{"windows", Json::array({row(false)})}};
  EXPECT_THAT(breakdown_html(run), HasSubstr("7.125"));
}

RunFiles run_with_knn(const char* split, Json validation) {
  RunFiles run;
  run.knn = {{"split", split},
             {"entries", 100},
             {"systems", Json::array({{{"name", "RETRO"},
                                       {"distances", "none"},
                                       {"validation_bits_per_byte", std::move(validation)},
                                       {"bits_per_byte", 1.5},
                                       {"gain", some_gain(0)}}})}};
  return run;
}

TEST(KnnSection, SaysWhatWasTunedOnAndWhatWasScored) {
  const std::string html = knn_html(run_with_knn("test", 1.625));
  EXPECT_THAT(html, HasSubstr("<th scope=col>tuned: validation</th><th scope=col>scored: test"));
  EXPECT_THAT(html, Not(HasSubstr("class=warning")));
}

TEST(KnnSection, WarnsWhereTheTuningIsWorthNothing) {
  const std::string same = knn_html(run_with_knn("validation", 1.5));
  EXPECT_THAT(same, HasSubstr("scored: validation"));
  EXPECT_THAT(same, HasSubstr("tuned on the very text that is scored"));
  EXPECT_THAT(knn_html(run_with_knn("test", nullptr)), HasSubstr("There was no validation text"));
}

TEST(QuestionsSection, RecallStandsInTheOrderOfNumbers) {
  RunFiles run;
  run.questions = {{"systems", Json::array({{{"name", "open book"}}})},
                   {"recall_at", {{"1", 0.25}, {"20", 0.75}, {"5", 0.5}}}};
  EXPECT_THAT(questions_html(run),
              HasSubstr("25.0 % within the first 1, 50.0 % within the first 5, 75.0 % within the "
                        "first 20."));
}

TEST(QuestionsSection, SaysHowManyAnswersAreShown) {
  RunFiles run;
  const Json answer = {{"question", "Q"}, {"answers", {"A"}}, {"predictions", Json::object()}};
  run.questions = {{"systems", Json::array({{{"name", "open book"}}})},
                   {"answers", Json(300, answer)}};
  EXPECT_THAT(questions_html(run), HasSubstr("<summary>Question by question</summary>"));
  run.questions["answers"].push_back(answer);
  EXPECT_THAT(questions_html(run), HasSubstr("Question by question (the first 300 of 301)"));
}

}  // namespace
}  // namespace retro
