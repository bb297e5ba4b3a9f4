#include "retro/report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kResult = R"({
 "split":"test","reference":"baseline.k0.s0","headline":"on.k2.s0",
 "columns":["baseline.k0.s0","on.k2.s0","on.k2.s4"],
 "groups":[{"source":"bible","part":"","documents":40,"chunks":100,"bytes":5000,
   "verdict":{"kind":"read","sentence":"Retrieval is read."},
   "filtered":[
     {"alpha":0.5,"chunks":3,"is_too_few":true,"systems":[]},
     {"alpha":1.0,"chunks":100,"is_too_few":false,"systems":[
       {"column":"baseline.k0.s0","bits_per_byte":1.5,"gain":{"estimate":0,"low":0,"high":0}},
       {"column":"on.k2.s0","bits_per_byte":1.25,"gain":{"estimate":0.25,"low":0.2,"high":0.3}}]}],
   "shifts":[{"shift":4,"alpha":1.0,"chunks":100,"is_too_few":false,"gain":{"estimate":0.24,"low":0.2,"high":0.28}}]}],
 "notes":["A note with <tags>."]})";

class HtmlReport : public ::testing::Test {
 protected:
  HtmlReport() : directory_(std::filesystem::temp_directory_path() / "retro_html_report_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~HtmlReport() override { std::filesystem::remove_all(directory_); }

  std::string page(const ReportInputs& inputs) {
    write_html_report(inputs, directory_ / "report.html");
    return read_file(directory_ / "report.html");
  }
  std::filesystem::path directory_;
};

TEST_F(HtmlReport, ShowsFiguresVerdictsAndSmallRows) {
  write_file(directory_ / "result.json", kResult);
  ReportInputs inputs;
  inputs.title = "a run";
  inputs.result = directory_ / "result.json";
  const std::string html = page(inputs);
  EXPECT_THAT(html, HasSubstr("Retrieval is read."));
  EXPECT_THAT(html, HasSubstr("<td>1.2500</td>"));
  EXPECT_THAT(html, HasSubstr("+0.2500 ± 0.0500"));
  EXPECT_THAT(html, HasSubstr("too few chunks"));
  EXPECT_THAT(html, HasSubstr("A note with &lt;tags&gt;."));
  EXPECT_THAT(html, HasSubstr("Shift test: bible"));
}

TEST_F(HtmlReport, NeedsNoNetwork) {
  write_file(directory_ / "result.json", kResult);
  ReportInputs inputs;
  inputs.result = directory_ / "result.json";
  const std::string html = page(inputs);
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
}

TEST_F(HtmlReport, AbsentPartsAreSaidNotInvented) {
  const std::string html = page(ReportInputs{});
  EXPECT_THAT(html, HasSubstr("Nothing was evaluated yet."));
  EXPECT_THAT(html, HasSubstr("Nothing was sampled."));
  EXPECT_THAT(html, HasSubstr("no data"));
}

TEST_F(HtmlReport, DrawsTheTrainingCurves) {
  write_file(directory_ / "metrics.jsonl",
             "{\"kind\":\"train\",\"step\":1,\"tokens\":1000000,\"loss\":3.5}\n"
             "{\"kind\":\"validation\",\"step\":1,\"tokens\":1000000,\"off\":{\"bits_per_byte\":2."
             "0},\"on\":{\"bits_per_byte\":1.5}}\n");
  ReportInputs inputs;
  inputs.retro_metrics = directory_ / "metrics.jsonl";
  const std::string html = page(inputs);
  EXPECT_THAT(html, HasSubstr("RETRO: 3.5 at 1"));
  EXPECT_THAT(html, HasSubstr("RETRO, retrieval on: 1.5 at 1"));
}

}  // namespace
}  // namespace retro
