// A toy that only retrieval can solve: chunked cross-attention really learns to read.
#include <cmath>

#include <gtest/gtest.h>

#include "retro/core/log.h"
#include "retro/train/trainer.h"

#include "train/toy_run.h"

namespace retro {
namespace {

using testing::ToyRun;

TEST(Learning, LeakedNeighboursAreRead) {
  set_log_quiet(true);
  const ToyRun toy;
  TrainConfig config = testing::toy_train_config();
  config.steps = 300;
  config.accumulation = 1;
  config.batch_size = 12;
  config.sequence_length = 24;
  config.neighbours = {1};
  config.self_neighbour = {};
  config.useless_neighbours = {};
  config.warmup_steps = 20;
  config.learning_rate = 1e-2;
  config.validation_every = 300;
  config.validation_sequences = 100;
  config.log_every = 100;
  const TrainResult result = train(config, toy.inputs(), toy.directory() / "run");
  set_log_quiet(false);
  ASSERT_TRUE(result.validation && result.validation->on);
  // Six uniform letters: without the neighbour at best log 6 a letter.
  const double off = result.validation->off.loss();
  const double on = result.validation->on->loss();
  EXPECT_LT(on, off - 0.3);
  EXPECT_LT(on, std::log(6.0) - 0.1);
}

}  // namespace
}  // namespace retro
