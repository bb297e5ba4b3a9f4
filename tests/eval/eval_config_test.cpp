#include "retro/eval/eval_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

namespace retro {
namespace {

using ::testing::HasSubstr;

std::string message_of(const EvalConfig& config) {
  try {
    check_eval_config(config, 64, 10);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(EvalConfigTest, DefaultsAreValidAndSurviveYaml) {
  EXPECT_EQ(message_of({}), "");
  EvalConfig changed;
  changed.neighbours = {1, 5};
  changed.breakdown = "change";
  changed.shifts = {};
  EvalConfig parsed;
  ConfigSource::from_text(to_yaml(changed)).parse(parsed);
  EXPECT_EQ(parsed.neighbours, changed.neighbours);
  EXPECT_EQ(parsed.breakdown, "change");
  EXPECT_TRUE(parsed.shifts.empty());
}

TEST(EvalConfigTest, ContradictionsNameTheKey) {
  EvalConfig config;
  config.neighbours = {11};
  EXPECT_THAT(message_of(config), HasSubstr("eval.neighbours: 11"));
  config = {};
  config.neighbours = {};
  EXPECT_THAT(message_of(config), HasSubstr("eval.neighbours is empty"));
  config = {};
  config.alphas = {0.5, 0.25, 1.0};
  EXPECT_THAT(message_of(config), HasSubstr("eval.alphas"));
  config.alphas = {0.125, 0.5};
  EXPECT_THAT(message_of(config), HasSubstr("end with 1"));
  config = {};
  config.shifts = {0, 64};
  EXPECT_THAT(message_of(config), HasSubstr("eval.shifts: 64"));
  config.shifts = {1, 2};
  EXPECT_THAT(message_of(config), HasSubstr("begin with 0"));
  config.shifts = {0, 2, 2};
  EXPECT_THAT(message_of(config), HasSubstr("ascend"));
  config = {};
  config.controls = {"leeked"};
  EXPECT_THAT(message_of(config), HasSubstr("`leeked`"));
  config = {};
  config.overlap_neighbours = 20;
  EXPECT_THAT(message_of(config), HasSubstr("eval.overlap_neighbours: 20"));
}

TEST(EvalConfigTest, NumbersOutOfRangeNameTheKey) {
  const auto message_with = [](auto member, auto value) {
    EvalConfig config;
    config.*member = value;
    return message_of(config);
  };
  EXPECT_THAT(message_with(&EvalConfig::bootstrap_resamples, 1),
              HasSubstr("eval.bootstrap_resamples is 1: it must be at least 2"));
  EXPECT_THAT(message_with(&EvalConfig::examples, -1), HasSubstr("eval.examples is -1"));
  EXPECT_THAT(message_with(&EvalConfig::documents, -1), HasSubstr("eval.documents is -1"));
  EXPECT_THAT(message_with(&EvalConfig::min_chunks, -1), HasSubstr("eval.min_chunks is -1"));
  EXPECT_THAT(message_with(&EvalConfig::min_documents, -1), HasSubstr("eval.min_documents is -1"));
  EXPECT_THAT(message_with(&EvalConfig::sequence_length, -64),
              HasSubstr("eval.sequence_length is -64"));
  EXPECT_THAT(message_with(&EvalConfig::window_overlap, 1.0),
              HasSubstr("eval.window_overlap is 1: it must be at least 0 and below 1"));
  EXPECT_THAT(message_with(&EvalConfig::window_overlap, -0.5), HasSubstr("eval.window_overlap"));
  EXPECT_EQ(message_with(&EvalConfig::examples, 0), "");
}

}  // namespace
}  // namespace retro
