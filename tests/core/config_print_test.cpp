#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/random.h"

#include "core/config_test_structs.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using testing::RootConfig;

RootConfig reparsed(const RootConfig& config) {
  RootConfig result;
  // Other defaults, so that a value that is not printed shows.
  result.train.steps = -1;
  result.train.schedule.peak = -1;
  result.name = "other";
  result.cca_layers = {9};
  result.weights = {{"other", 9}};
  result.sources.resize(5);
  ConfigSource::from_text(to_yaml(config)).parse(result);
  return result;
}

TEST(ToYaml, Layout) {
  RootConfig config;
  config.sources.resize(2);
  config.sources[1].path = "b c";
  EXPECT_EQ(to_yaml(config),
            R"(name: run
cca_layers: [1, 3]
alphas: [0.125, 1.0]
controls: ["off", random]
weights: {wiki: 1.0}
sources:
  - schedule:
      peak: 0.001
      warmup_steps: 750
    path: ""
    max_documents: 0
  - schedule:
      peak: 0.001
      warmup_steps: 750
    path: "b c"
    max_documents: 0
train:
  steps: 100
  resume: true
  precision: auto
  schedule:
    peak: 0.001
    warmup_steps: 750
)");
  EXPECT_EQ(reparsed(config), config);
}

TEST(ToYaml, EmptyListsAndMaps) {
  RootConfig config;
  config.cca_layers.clear();
  config.weights.clear();
  config.controls.clear();
  EXPECT_THAT(to_yaml(config), HasSubstr("cca_layers: []\n"));
  EXPECT_THAT(to_yaml(config), HasSubstr("sources: []\n"));
  EXPECT_THAT(to_yaml(config), HasSubstr("weights: {}\n"));
  EXPECT_EQ(reparsed(config), config);
}

TEST(ToYaml, ExtremeNumbers) {
  RootConfig config;
  using Limits = std::numeric_limits<double>;
  config.cca_layers = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0,
                       -1};
  config.alphas = {0.1,           1.0 / 3,       1e22,    123456789012345680.0, 5e-324,
                   Limits::max(), Limits::min(), -1e-5,   Limits::infinity(),   -Limits::infinity(),
                   -0.0,          1e100,         100000.0};
  const RootConfig result = reparsed(config);
  EXPECT_EQ(result.cca_layers, config.cca_layers);
  EXPECT_EQ(result.alphas, config.alphas);
  EXPECT_TRUE(std::signbit(result.alphas[10]));
  config.train.schedule.peak = Limits::quiet_NaN();
  EXPECT_TRUE(std::isnan(reparsed(config).train.schedule.peak));
}

// YAML 1.1 readers (PyYAML) see a float only where there is a point.
TEST(ToYaml, DoublesAreShortestAndHaveAPoint) {
  RootConfig config;
  config.alphas = {1e-5, 0.1, 3, 1e22, 2.5e-7};
  EXPECT_THAT(to_yaml(config), HasSubstr("alphas: [1.0e-05, 0.1, 3.0, 1.0e+22, 2.5e-07]\n"));
}

TEST(ToYaml, RandomDoublesRoundTripBitForBit) {
  RandomStream random(5, "doubles");
  RootConfig config;
  config.alphas.clear();
  while (config.alphas.size() < 2000) {
    const double value = std::bit_cast<double>(random.next_u64());
    if (!std::isnan(value)) config.alphas.push_back(value);
  }
  EXPECT_EQ(reparsed(config).alphas, config.alphas);
}

TEST(ToYaml, AwkwardTextRoundTrips) {
  RootConfig config;
  config.controls = {"",
                     " ",
                     "null",
                     "~",
                     "true",
                     "No",
                     "1",
                     "1e5",
                     ".inf",
                     "a: b",
                     "a #b",
                     "- a",
                     "[a]",
                     "{a}",
                     "*a",
                     "&a",
                     "!a",
                     "|",
                     ">",
                     "%",
                     "@",
                     "`",
                     "\"",
                     "'",
                     "\\",
                     "a\nb",
                     "a\tb",
                     "\r",
                     "\x01",
                     "\x7f",
                     "é",
                     "日本",
                     "\xc2\x85",
                     "\xe2\x80\xa8",
                     "\xef\xbb\xbf",
                     "a\xef\xbb\xbf",
                     "😀",
                     "?",
                     "? a",
                     ":",
                     "a,b",
                     "---",
                     "...",
                     "<<",
                     "=",
                     "0x1F",
                     "0o7",
                     "1_000",
                     "2001-01-01",
                     "/a/b.c-d_e",
                     std::string("a\0b", 3),
                     "trailing ",
                     "\n",
                     "C:\\dir"};
  EXPECT_EQ(reparsed(config).controls, config.controls);
  config.weights.clear();
  for (const std::string& text : config.controls) config.weights[text] = 1;
  EXPECT_EQ(reparsed(config).weights, config.weights);
}

TEST(ToYaml, RandomTextRoundTrips) {
  RandomStream random(5, "text");
  constexpr std::string_view kLetters[] = {"a",  "1", " ",  ":", "-", "#", "\n",   "\t",
                                           "\"", "'", "\\", ",", "[", "{", "é",    "&",
                                           "*",  "!", "%",  "?", ".", "~", "\x1b", "😀"};
  RootConfig config;
  config.controls.clear();
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (uint64_t length = random.below(8); length > 0; --length)
      text += kLetters[random.below(std::size(kLetters))];
    config.controls.push_back(text);
  }
  EXPECT_EQ(reparsed(config).controls, config.controls);
}

struct EmptyConfig {
  void visit_fields(FieldVisitor&) {}
};
struct ListOfEmpty {
  std::vector<EmptyConfig> list{2};
  EmptyConfig nothing;
  void visit_fields(FieldVisitor& visit) {
    visit("list", list, "");
    visit("nothing", nothing, "");
  }
};

TEST(ToYaml, StructsWithoutFields) {
  ListOfEmpty config{.list = std::vector<EmptyConfig>(2), .nothing = {}};
  EXPECT_EQ(to_yaml(config), "list:\n  - {}\n  - {}\nnothing:\n");
  ListOfEmpty result;
  result.list.clear();
  ConfigSource::from_text(to_yaml(config)).parse(result);
  EXPECT_EQ(result.list.size(), 2U);
}

TEST(ConfigHelp, EveryKeyWithTypeDefaultAndHelp) {
  const std::string expected =
      R"(name                             (text, run)                      title of the report
cca_layers                       (list of int, [1, 3])            layers with cross-attention
alphas                           (list of float, [0.125, 1.0])    overlaps
controls                         (list of text, ["off", random])  what to evaluate beside
weights                          (map of float, {wiki: 1.0})      share of each source
sources                          (list, [])                       where text comes from
sources.N.schedule                                                a block first in an element
sources.N.schedule.peak          (float, 0.001)                   highest learning rate
sources.N.schedule.warmup_steps  (int, 750)                       optimizer steps of linear rise
sources.N.path                   (text, "")                       file or folder
sources.N.max_documents          (int, 0)                         0: all
train                                                             how the model is trained
train.steps                      (int, 100)                       optimizer steps
train.resume                     (bool, true)                     go on from the last checkpoint
train.precision                  (float32|bfloat16|auto, auto)    type of matrix products
train.schedule                                                    learning rate
train.schedule.peak              (float, 0.001)                   highest learning rate
train.schedule.warmup_steps      (int, 750)                       optimizer steps of linear rise
)";
  EXPECT_EQ(config_help<RootConfig>(), expected);
}

struct LongHelp {
  int64_t key = 1;
  std::string choice = "a-rather-long-choice";
  void visit_fields(FieldVisitor& visit) {
    visit("key", key,
          "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
          "fifteen sixteen seventeen "
          "eighteen nineteen");
    visit.choice("choice", choice, {"a-rather-long-choice", "another-rather-long-choice"}, "short");
  }
};

TEST(ConfigHelp, LongHelpIsWrappedAndLongTypesKeepTheirLine) {
  EXPECT_EQ(
      config_help<LongHelp>(),
      R"(key     (int, 1)  one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
                  sixteen seventeen eighteen nineteen
choice  (a-rather-long-choice|another-rather-long-choice, a-rather-long-choice)
                  short
)");
}

}  // namespace
}  // namespace retro
