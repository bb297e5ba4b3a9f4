#include "retro/report/html_report.h"

#include <gmock/gmock.h>

#include "retro/core/error.h"

#include "report/run_directory.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kResult = R"({
 "split":"test","reference":"baseline.k0.s0","headline":"on.k2.s0",
 "columns":["baseline.k0.s0","off.k0.s0","on.k2.s0","random.k2.s0","leaked.k2.s0","on.k2.s4"],
 "groups":[{"source":"bible","part":"","documents":40,"chunks":100,"bytes":5000,
   "retrieval":{"queries":100,"share_with_neighbour":1,"mean_distance":2.5,"mean_overlap":0.25},
   "verdict":{"kind":"read","sentence":"retrieval is <read>."},
   "filtered":[
     {"alpha":0.5,"chunks":3,"is_too_few":true,"systems":[]},
     {"alpha":1.0,"chunks":100,"documents":40,"is_too_few":false,
      "random_over_off":{"estimate":0.12,"low":0.1,"high":0.14},"systems":[
       {"column":"baseline.k0.s0","bits_per_byte":1.5,"gain":{"estimate":0,"low":0,"high":0}},
       {"column":"off.k0.s0","bits_per_byte":1.52,"gain":{"estimate":-0.02,"low":-0.03,"high":-0.01}},
       {"column":"random.k2.s0","bits_per_byte":1.4,"gain":{"estimate":0.1,"low":0.09,"high":0.11}},
       {"column":"leaked.k2.s0","bits_per_byte":0.5,"gain":{"estimate":1.0,"low":0.9,"high":1.1}},
       {"column":"on.k2.s0","bits_per_byte":1.25,"gain":{"estimate":0.25,"low":0.2,"high":0.3}}]}],
   "shifts":[{"shift":4,"alpha":1.0,"chunks":100,"is_too_few":false,
     "gain":{"estimate":0.24,"low":0.2,"high":0.28}}]}],
 "notes":["A note with <tags>."]})";

class HtmlReport : public RunDirectory {};

TEST_F(HtmlReport, SaysWhatReadingBroughtInWordsAndFigures) {
  add("eval/result.json", kResult);
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<strong>16.7 % fewer bits</strong>"));  // 0.25 of 1.5
  EXPECT_THAT(html, HasSubstr("It reads"));
  EXPECT_THAT(html, HasSubstr("Retrieval is &lt;read&gt;."));
  EXPECT_THAT(html, HasSubstr("+0.2500 ± 0.0500"));
  EXPECT_THAT(html, HasSubstr("−0.0200 ± 0.0100"));
  EXPECT_THAT(html, HasSubstr("too few"));
  EXPECT_THAT(html, HasSubstr("A note with &lt;tags&gt;."));
}

TEST_F(HtmlReport, ControlsThatFailAreSaid) {
  add("eval/result.json", kResult);
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<td>0.1200 bits per byte better than retrieval off (95 % interval "
                              "+0.1000 to +0.1400)</td><td "
                              "data-order=\"-1\"><span class=bad>✗ does not hold"));
  EXPECT_THAT(html, HasSubstr("<td>0.7500 bits per byte better than retrieval on</td><td "
                              "data-order=\"1\"><span class=good>✓ holds"));
}

/// kResult with `text` in the place of what it says of random neighbours against none.
std::string result_with_random(const std::string& text) {
  constexpr const char* kInterval =
      "\"random_over_off\":{\"estimate\":0.12,\"low\":0.1,\"high\":0.14},";
  std::string result = kResult;
  return result.replace(result.find(kInterval), std::string(kInterval).size(), text);
}

// What random neighbours gain over the baseline says nothing of whether they beat none.
TEST_F(HtmlReport, RandomNeighboursAreJudgedByTheirOwnDifferenceToNone) {
  add("eval/result.json",
      result_with_random(R"("random_over_off":{"estimate":0.12,"low":-0.01,"high":0.25},)"));
  EXPECT_THAT(page(), HasSubstr("−0.0100 to +0.2500)</td><td data-order=\"1\"><span class=good>"));
  add("eval/result.json", result_with_random(""));  // of an older program
  EXPECT_THAT(page(), HasSubstr("better than retrieval off</td><td data-order=\"0\">–"));
}

TEST_F(HtmlReport, AFewDocumentsDoNotTellAGainFromChance) {
  add("eval/result.json", kResult);
  EXPECT_THAT(page(), HasSubstr("a difference that chance does not explain"));
  std::string few = kResult;
  const std::string documents = R"("documents":40,"is_too_few")";
  few.replace(few.find(documents), documents.size(), R"("documents":9,"is_too_few")");
  add("eval/result.json", few);
  EXPECT_THAT(page(), HasSubstr("over too few documents to tell"));
}

TEST_F(HtmlReport, NeedsNoNetwork) {
  add("eval/result.json", kResult);
  const std::string html = page();
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
}

TEST_F(HtmlReport, SectionsAppearWithTheirFiles) {
  const std::string empty = page();
  EXPECT_THAT(empty, HasSubstr("Nothing was evaluated yet"));
  for (const char* absent : {"#evidence", "#reader", "#sample", "#training", "#tables"})
    EXPECT_THAT(empty, Not(HasSubstr(absent)));
  add("sample.json", R"({"prompt":"</script>","text":"x","chunks":[]})");
  add("training/retro/metrics.jsonl",
      "{\"kind\":\"train\",\"step\":1,\"tokens\":1000000,\"loss\":3.5}\n"
      "{\"kind\":\"validation\",\"step\":1,\"tokens\":1000000,\"on\":{\"bits_per_byte\":1.5}}\n"
      "{\"kind\":\"train\",\"ste");
  add("eval/knn.table.json", R"({"title":"kNN & more","columns":["a","b"],
      "rows":[["x",{"estimate":1.5,"low":1.4,"high":1.6}],["y",null]]})");
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("href=\"#training\""));
  EXPECT_THAT(html, HasSubstr("RETRO: 3.5 at 1"));
  EXPECT_THAT(html, HasSubstr("RETRO, retrieval on: 1.5 at 1"));
  EXPECT_THAT(html, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(html, HasSubstr("kNN &amp; more"));
  EXPECT_THAT(html, HasSubstr("<td data-order=\"1.5\">1.5000 ± 0.1000</td>"));
}

TEST_F(HtmlReport, SeveralRunsGetATableAndAComparison) {
  add("eval/result.json", kResult, "one");
  add("config.yaml", "model:\n  width: 128\n", "one");
  add("config.yaml", "model:\n  width: 256\n", "two");
  const std::string html = page({"one", "two"});
  EXPECT_THAT(html, HasSubstr("2 runs side by side"));
  EXPECT_THAT(html, HasSubstr("data-run=1>two</button>"));
  EXPECT_THAT(html, HasSubstr(R"("settings":{"model.width":"256"})"));
  EXPECT_THAT(html, HasSubstr("href=\"#run1-config\""));
  EXPECT_THAT(html, HasSubstr(R"("bytes":5000)"));  // what is compared to tell text from text
  EXPECT_THAT(page({"one"}), Not(HasSubstr("compare-data\">")));
}

TEST_F(HtmlReport, AGainOverThreeNumbersOfPassagesIsACurve) {
  const std::string systems =
      R"({"column":"on.k10.s0","bits_per_byte":1.3,"gain":{"estimate":0.3,"low":0.2,"high":0.4}},)"
      R"({"column":"on.k2.s0","bits_per_byte":1.4,"gain":{"estimate":0.2,"low":0.1,"high":0.3}})";
  const auto result = [&](const std::string& columns, const std::string& more) {
    return R"({"reference":"off.k0.s0","headline":"on.k2.s0","columns":[)" + columns +
           R"(],"groups":[{"source":"a","part":"","chunks":50,"filtered":[{"alpha":1,"systems":[)" +
           systems + more + "]}]}]}";
  };
  add("eval/result.json", result(R"("on.k10.s0","on.k2.s0")", ""));
  EXPECT_THAT(page(), Not(HasSubstr("Gain by number of passages")));
  add("eval/result.json",
      result(
          R"("on.k10.s0","on.k2.s0","on.k1.s0")",
          R"(,{"column":"on.k1.s0","bits_per_byte":1.5,"gain":{"estimate":0.1,"low":0,"high":0.2}})"));
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("retrieval on: 0.1 at 0"));  // k = 1 stands first
  EXPECT_THAT(html, HasSubstr("retrieval on: 0.3 at 2"));
}

TEST_F(HtmlReport, RefusesWhatIsNotThere) {
  EXPECT_THROW(write_html_report({}, directory_ / "report.html"), Error);
  EXPECT_THROW(write_html_report({{directory_ / "nowhere"}}, directory_ / "report.html"), Error);
  add("eval/result.json", "{\"groups\":");
  EXPECT_THROW(page(), Error);
}

}  // namespace
}  // namespace retro
