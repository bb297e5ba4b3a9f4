#include "retro/core/config_yaml.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config_test_structs.h"
#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RootConfig;
using ::testing::StartsWith;

RootConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  ConfigSource source = ConfigSource::from_text(text, "x.yaml");
  for (const std::string& assignment : overrides) source.apply_override(assignment);
  RootConfig config;
  source.parse(config);
  return config;
}

std::string error_for(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return error_of([&] { parse(text, overrides); });
}

TEST(ConfigYaml, ReadsEveryKindOfField) {
  const RootConfig config = parse(R"(
name: a title with spaces
cca_layers: [2, 5]
alphas: [0.5, 1]
controls:
  - off
  - leaked
weights: {wiki: 0.25, "linux-6.1": 2}
sources:
  - path: a.jsonl
    schedule: {peak: 0.5}
  - path: b
    max_documents: 10
train:
  steps: 200
  resume: false
  precision: bfloat16
  schedule:
    peak: 5e-4
)");
  EXPECT_EQ(config.name, "a title with spaces");
  EXPECT_THAT(config.cca_layers, ElementsAre(2, 5));
  EXPECT_THAT(config.alphas, ElementsAre(0.5, 1.0));
  EXPECT_THAT(config.controls, ElementsAre("off", "leaked"));
  EXPECT_EQ(config.weights, (std::map<std::string, double>{{"wiki", 0.25}, {"linux-6.1", 2}}));
  ASSERT_EQ(config.sources.size(), 2U);
  EXPECT_EQ(config.sources[0].path, "a.jsonl");
  EXPECT_EQ(config.sources[0].schedule.peak, 0.5);
  EXPECT_EQ(config.sources[0].schedule.warmup_steps, 750);
  EXPECT_EQ(config.sources[1].max_documents, 10);
  EXPECT_EQ(config.train.steps, 200);
  EXPECT_FALSE(config.train.resume);
  EXPECT_EQ(config.train.precision, "bfloat16");
  EXPECT_EQ(config.train.schedule.peak, 5e-4);
  EXPECT_EQ(config.train.schedule.warmup_steps, 750) << "what is not named keeps its default";
}

TEST(ConfigYaml, AbsentValuesKeepTheDefaults) {
  EXPECT_EQ(parse(""), RootConfig{});
  EXPECT_EQ(parse("# only a comment\n"), RootConfig{});
  EXPECT_EQ(parse("train:\nname:\ncca_layers: ~\nsources: null\nweights:\n"), RootConfig{});
}

TEST(ConfigYaml, ListsAndMapsAreReplacedNotMerged) {
  const RootConfig config = parse("cca_layers: []\nweights: {}\ncontrols: []\n");
  EXPECT_THAT(config.cca_layers, IsEmpty());
  EXPECT_THAT(config.weights, IsEmpty());
  EXPECT_THAT(config.controls, IsEmpty());
}

TEST(ConfigYaml, ListElementsStartFromTheirOwnDefaults) {
  RootConfig config;
  config.sources.resize(2);
  config.sources[0].path = "default";
  ConfigSource::from_text("sources: [{max_documents: 3}]").parse(config);
  ASSERT_EQ(config.sources.size(), 1U);
  EXPECT_EQ(config.sources[0].path, "");
}

TEST(ConfigYaml, TextIsTakenAsItStands) {
  EXPECT_EQ(parse("name: 007").name, "007");
  EXPECT_EQ(parse("name: true").name, "true");
  EXPECT_EQ(parse("name: \"\"").name, "");
  EXPECT_EQ(parse("name: \"null\"").name, "null");
  EXPECT_EQ(parse("name: 'a: b'").name, "a: b");
}

TEST(ConfigYaml, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_for("name: a\ntrian:\n  steps: 3\n"),
            "x.yaml:3: unknown key `trian.steps`; did you mean `train.steps`?");
  EXPECT_EQ(error_for("train: {step: 3}"),
            "x.yaml:1: unknown key `train.step`; did you mean `train.steps`?");
  EXPECT_EQ(error_for("\n\nsteps: 3"), "x.yaml:3: unknown key `steps`; did you mean `train.steps`?")
      << "the right name in the wrong block";
  EXPECT_EQ(error_for("warmup_steps: 3"),
            "x.yaml:1: unknown key `warmup_steps`; did you mean `train.schedule.warmup_steps`?");
  EXPECT_EQ(error_for("colour: red"), "x.yaml:1: unknown key `colour`");
  EXPECT_EQ(error_for("nmae: a"), "x.yaml:1: unknown key `nmae`; did you mean `name`?");
  EXPECT_EQ(error_for("sources:\n  - path: a\n  - pth: b\n"),
            "x.yaml:3: unknown key `sources.1.pth`; did you mean `sources.1.path`?");
  EXPECT_EQ(error_for("train:\n  nothing:\n"), "x.yaml:2: unknown key `train.nothing`")
      << "also without a value";
}

TEST(ConfigYaml, UnknownKeyInAnOverrideQuotesIt) {
  EXPECT_EQ(error_for("", {"train.stesp=3"}),
            "override `train.stesp=3`: unknown key `train.stesp`; did you mean `train.steps`?");
}

TEST(ConfigYaml, WrongTypesSayWhatWasExpectedAndFound) {
  EXPECT_EQ(error_for("train:\n  steps: abc"),
            "x.yaml:2: `train.steps`: expected an integer, found `abc`");
  EXPECT_EQ(error_for("train: {steps: 1.5}"),
            "x.yaml:1: `train.steps`: expected an integer, found `1.5`");
  EXPECT_EQ(error_for("train: {steps: \"5\"}"),
            "x.yaml:1: `train.steps`: expected an integer, found the text \"5\"");
  EXPECT_EQ(error_for("train: {steps: [1]}"),
            "x.yaml:1: `train.steps`: expected an integer, found a list");
  EXPECT_EQ(error_for("train: {steps: {a: 1}}"),
            "x.yaml:1: `train.steps`: expected an integer, found a block of keys");
  EXPECT_EQ(error_for("train: {resume: 1}"),
            "x.yaml:1: `train.resume`: expected true or false, found `1`");
  EXPECT_EQ(error_for("train: {schedule: {peak: high}}"),
            "x.yaml:1: `train.schedule.peak`: expected a number, found `high`");
  EXPECT_EQ(error_for("train: 5"), "x.yaml:1: `train`: expected a block of keys, found `5`");
  EXPECT_EQ(error_for("name: [a]"), "x.yaml:1: `name`: expected text, found a list");
  EXPECT_EQ(error_for("cca_layers: 3"),
            "x.yaml:1: `cca_layers`: expected a list of integers, like [1, 2], found `3`");
  EXPECT_EQ(error_for("cca_layers: [1, x]"),
            "x.yaml:1: `cca_layers.1`: expected an integer, found `x`");
  EXPECT_EQ(error_for("cca_layers:\n- 1\n-\n"),
            "x.yaml:1: `cca_layers.1`: expected an integer, found nothing");
  EXPECT_EQ(
      error_for("alphas: {a: 1}"),
      "x.yaml:1: `alphas`: expected a list of numbers, like [0.1, 0.2], found a block of keys");
  EXPECT_EQ(error_for("controls: off"),
            "x.yaml:1: `controls`: expected a list, like [a, b], found `off`");
  EXPECT_EQ(error_for("weights: [1]"),
            "x.yaml:1: `weights`: expected names with numbers, like {a: 0.5, b: 1}, found a list");
  EXPECT_EQ(error_for("weights: {wiki: much}"),
            "x.yaml:1: `weights.wiki`: expected a number, found `much`");
  EXPECT_EQ(error_for("sources: {path: a}"),
            "x.yaml:1: `sources`: expected a list of blocks, found a block of keys");
  EXPECT_EQ(error_for("sources: [a]"),
            "x.yaml:1: `sources.0`: expected a block of keys, found `a`");
  EXPECT_EQ(
      error_for("train: {precision: float16}"),
      "x.yaml:1: `train.precision`: expected one of float32, bfloat16, auto, found `float16`");
}

TEST(ConfigYaml, KeysThatStandTwiceAreErrors) {
  EXPECT_EQ(error_for("train: {steps: 1}\nname: a\ntrain: {resume: no}\n"),
            "x.yaml:3: key `train` stands twice (first at x.yaml:1)");
  EXPECT_EQ(error_for("weights: {a: 1, a: 2}"),
            "x.yaml:1: key `a` stands twice (first at x.yaml:1)");
}

TEST(ConfigYaml, TextThatIsNoConfiguration) {
  EXPECT_THAT(error_for("name: a\n\ttrain: 3"), StartsWith("x.yaml:2: not valid YAML: "));
  EXPECT_THAT(error_for("a: [1, 2"), StartsWith("x.yaml:1: not valid YAML: "));
  EXPECT_EQ(error_for("- a\n- b"), "x.yaml: expected a block of keys, found a list");
  EXPECT_EQ(error_for("just words"), "x.yaml: expected a block of keys, found `just words`");
  EXPECT_EQ(error_for("name: a\n---\nname: b\n"), "x.yaml: holds 2 YAML documents, expected one");
  EXPECT_EQ(error_for("? [a, b]\n: 1"), "x.yaml:1: a key must be a word");
}

TEST(ConfigYaml, OtherEncodingsAreRefused) {
  EXPECT_EQ(error_for("name: a\ntrain: {}\n# caf\xe9\n"),
            "x.yaml:3: not valid UTF-8 (byte 23 of the file)");
  for (const std::string broken :
       {"\x80", "\xc1\x81", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x28\xa1", "\xff\xfen\x01"}) {
    EXPECT_THAT(error_for("name: " + broken), HasSubstr("not valid UTF-8 (byte 6 ")) << broken;
  }
  EXPECT_EQ(parse("name: \"é 日本 😀 \xf4\x8f\xbf\xbd \xed\x9f\xbf\"").name,
            "é 日本 😀 \xf4\x8f\xbf\xbd \xed\x9f\xbf");
  EXPECT_EQ(parse("\xef\xbb\xbfname: a").name, "a") << "a byte order mark is no harm";
}

// Aliases that contain themselves, double at each level, or nest without end.
TEST(ConfigYaml, HostileDocumentsAreRefused) {
  EXPECT_NE(error_for("a: &a [*a]"), "");
  std::string doubling = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    doubling +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below + ", " + below + "]\n";
  }
  EXPECT_THAT(error_for(doubling), HasSubstr("nested too deep or too large"));
  EXPECT_NE(error_for("a: " + std::string(100'000, '[')), "");
  EXPECT_NE(error_for("a: " + std::string(1'000, '[') + std::string(1'000, ']')), "");
}

TEST(ConfigYaml, FilesAreNamedInErrors) {
  const testing::ScratchDirectory scratch;
  testing::spill(scratch / "c.yaml", "name: a\ntrain:\n  steps: many\n");
  RootConfig config;
  EXPECT_EQ(error_of([&] { ConfigSource::from_file(scratch / "c.yaml").parse(config); }),
            (scratch / "c.yaml").string() + ":3: `train.steps`: expected an integer, found `many`");
  EXPECT_THAT(error_of([&] { ConfigSource::from_file(scratch / "d.yaml"); }),
              HasSubstr("No such file"));
}

TEST(ConfigOverride, LaterOnesWinOverEarlierAndOverTheFile) {
  EXPECT_EQ(parse("train: {steps: 1}", {"train.steps=2", "train.steps=3"}).train.steps, 3);
  EXPECT_EQ(parse("", {"train.schedule.peak=0.25"}).train.schedule.peak, 0.25);
  EXPECT_EQ(parse("train: {steps: 1, resume: no}", {"train.steps=2"}).train.resume, false);
}

TEST(ConfigOverride, WholeValuesInYaml) {
  EXPECT_THAT(parse("", {"cca_layers=[7, 8]"}).cca_layers, ElementsAre(7, 8));
  const RootConfig config = parse("train: {steps: 1, resume: no}", {"train={steps: 9}"});
  EXPECT_EQ(config.train.steps, 9);
  EXPECT_EQ(config.train.resume, true) << "the block was replaced";
  EXPECT_EQ(parse("", {"name=a=b c"}).name, "a=b c");
  EXPECT_EQ(parse("name: a", {"name=null"}).name, "run");
  EXPECT_EQ(parse("", {"name=\"\""}).name, "");
  EXPECT_EQ(parse("", {" train.steps = 5 "}).train.steps, 5);
}

TEST(ConfigOverride, MapsByName) {
  EXPECT_EQ(parse("weights: {a: 1}", {"weights.b=2", "weights.\"linux-6.1\"=3"}).weights,
            (std::map<std::string, double>{{"a", 1}, {"b", 2}, {"linux-6.1", 3}}));
}

TEST(ConfigOverride, ListElementsByIndex) {
  const RootConfig config =
      parse("sources: [{path: a}, {path: b}]",
            {"sources.1.path=c", "sources.2.path=d", "sources.2.max_documents=4"});
  ASSERT_EQ(config.sources.size(), 3U);
  EXPECT_EQ(config.sources[0].path, "a");
  EXPECT_EQ(config.sources[1].path, "c");
  EXPECT_EQ(config.sources[2].path, "d");
  EXPECT_EQ(config.sources[2].max_documents, 4);
  EXPECT_EQ(parse("", {"sources.0.path=x"}).sources.at(0).path, "x");
  EXPECT_THAT(parse("cca_layers: [1, 2]", {"cca_layers.0=5"}).cca_layers, ElementsAre(5, 2));
}

TEST(ConfigOverride, Refusals) {
  EXPECT_EQ(error_for("", {"train.steps"}), "override `train.steps`: expected KEY=VALUE");
  EXPECT_EQ(error_for("", {"=3"}), "override `=3`: expected KEY=VALUE");
  EXPECT_EQ(error_for("", {"name="}),
            "override `name=`: no value; write '\"\"' for an empty text, null for the default");
  EXPECT_EQ(error_for("", {"train..steps=3"}), "override `train..steps=3`: empty name in the key");
  EXPECT_EQ(
      error_for("sources: [{path: a}]", {"sources.2.path=b"}),
      "override `sources.2.path=b`: index 2 is out of range, the list in the file has 1 elements");
  EXPECT_EQ(error_for("sources: [{path: a}]", {"sources.first.path=b"}),
            "override `sources.first.path=b`: `first` is no index of the list at x.yaml:1");
  EXPECT_EQ(error_for("name: a", {"name.b=3"}),
            "override `name.b=3`: nothing can stand below `a` (x.yaml:1)");
  EXPECT_THAT(error_for("", {"cca_layers=[1, 2"}), StartsWith("override `cca_layers=[1, 2`: "));
  EXPECT_EQ(error_for("", {"train.steps=x"}),
            "override `train.steps=x`: `train.steps`: expected an integer, found `x`");
}

TEST(ConfigSourceTest, LocationOfAKey) {
  ConfigSource source =
      ConfigSource::from_text("name: a\ntrain:\n  steps: 3\nsources: [{path: b}]\n", "x.yaml");
  source.apply_override("train.resume=no");
  EXPECT_EQ(source.location("train.steps"), "x.yaml:3");
  EXPECT_EQ(source.location("train.resume"), "override `train.resume=no`");
  EXPECT_EQ(source.location("sources.0.path"), "x.yaml:4");
  EXPECT_EQ(source.location("train.schedule.peak"), "x.yaml");
  EXPECT_EQ(source.location("sources.7.path"), "x.yaml");
}

}  // namespace
}  // namespace retro
