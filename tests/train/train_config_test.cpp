#include "retro/train/train_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

#include "train/toy_run.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TrainConfig parsed(const std::string& yaml) {
  TrainConfig config;
  ConfigSource::from_text(yaml).parse(config);
  return config;
}

/// The message for a chunk length of 4 of a valid configuration with `yaml` on top.
std::string message_for(const std::string& yaml) {
  try {
    TrainConfig config = testing::toy_train_config();
    ConfigSource::from_text(yaml).parse(config);
    config.check(4);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrainConfig, ToyIsValid) { EXPECT_EQ(message_for("steps: 10"), "no error"); }

struct Refusal {
  std::string yaml;
  std::string key;
};

class TrainConfigRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(TrainConfigRefuses, AndNamesTheKey) {
  EXPECT_THAT(message_for(GetParam().yaml), HasSubstr(GetParam().key));
}

INSTANTIATE_TEST_SUITE_P(
    Contradictions, TrainConfigRefuses,
    ::testing::Values(
        Refusal{"sequence_length: 10", "train.sequence_length is 10"},
        Refusal{"sequence_length: 10", "the next one is 12"},
        Refusal{"sequence_length: 0", "train.sequence_length"},
        Refusal{"steps: 0", "train.steps is 0"}, Refusal{"epochs: 2", "train.epochs is 2"},
        Refusal{"steps: -1", "train.steps"},
        Refusal{"warmup_steps: 10", "train.warmup_steps is 10"},
        Refusal{"batch_size: 0", "train.batch_size"},
        Refusal{"accumulation: 0", "train.accumulation"},
        Refusal{"neighbours: []", "train.neighbours"},
        Refusal{"neighbours: [1, -1]", "train.neighbours"},
        Refusal{"self_neighbour: {until: 1.5}", "train.self_neighbour.until"},
        Refusal{"self_neighbour: {until: 0.0}", "train.self_neighbour.rate"},
        Refusal{"self_neighbour: {rate: 0.0}", "train.self_neighbour.until"},
        Refusal{"self_neighbour: {rate: 0.0, until: 0.0}", "train.self_neighbour.jitter"},
        Refusal{"self_neighbour: {jitter: 5}", "train.self_neighbour.jitter is 5"},
        Refusal{"useless_neighbours: {rate: -0.1}", "train.useless_neighbours.rate"},
        Refusal{"useless_neighbours: {random_share: 2}", "train.useless_neighbours.random_share"},
        Refusal{"learning_rate: 0", "train.learning_rate"},
        Refusal{"learning_rate: .nan", "train.learning_rate"}, Refusal{"beta1: 1.0", "train.beta1"},
        Refusal{"weight_decay: -1", "train.weight_decay"}, Refusal{"clip: -1", "train.clip"},
        Refusal{"keep_last: 0", "train.keep_last"}, Refusal{"log_every: 0", "train.log_every"},
        Refusal{"validation_sequences: 0", "train.validation_sequences"},
        Refusal{"precision: float16", "precision"}));

TEST(TrainConfig, EveryKeySurvivesYaml) {
  TrainConfig config = testing::toy_train_config();
  config.sources = {{"wiki", 2.0}, {"bible", 0.5}};
  const TrainConfig again = parsed(to_yaml(config));
  EXPECT_EQ(to_yaml(again), to_yaml(config));
  EXPECT_THAT(changed_keys(config, again), IsEmpty());
  EXPECT_EQ(again.neighbours, config.neighbours);
  EXPECT_EQ(again.sources, config.sources);
  EXPECT_EQ(again.self_neighbour.jitter, 2);
}

TEST(TrainConfig, HarmlessChangesDoNotCount) {
  const TrainConfig before = testing::toy_train_config();
  const TrainConfig now = [&] {
    TrainConfig config = before;
    config.validation_every = 7;
    config.validation_sequences = 8;
    config.checkpoint_every = 9;
    config.keep_last = 10;
    config.log_every = 11;
    config.threads = 12;
    config.data_threads = 3;
    config.precision = "bfloat16";
    return config;
  }();
  EXPECT_THAT(changed_keys(before, now), IsEmpty());
}

TEST(TrainConfig, ChangesOfTheResultAreNamed) {
  const TrainConfig before = testing::toy_train_config();
  TrainConfig now = before;
  now.learning_rate *= 2;
  now.steps = 11;
  now.self_neighbour.rate = 0.25;
  now.sources = {{"wiki", 1.0}};
  EXPECT_THAT(changed_keys(before, now),
              ElementsAre("learning_rate", "self_neighbour.rate", "sources.wiki", "steps"));
}

}  // namespace
}  // namespace retro
