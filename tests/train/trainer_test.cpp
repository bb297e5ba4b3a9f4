#include "retro/train/trainer.h"

#include <csignal>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/train/training_step.h"

#include "train/toy_run.h"

namespace retro {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ToyRun;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { set_log_quiet(true); }
  ~TrainerTest() override { set_log_quiet(false); }

  /// A fresh directory for one run.
  std::filesystem::path directory(const std::string& name) const { return toy_.directory() / name; }
  TrainInputs stopping_at(int64_t step) const {
    TrainInputs inputs = toy_.inputs();
    inputs.should_stop = [step, calls = int64_t{0}]() mutable { return ++calls == step; };
    return inputs;
  }
  static std::vector<nlohmann::json> metrics(const std::filesystem::path& run,
                                             const std::string& kind) {
    std::vector<nlohmann::json> out;
    std::istringstream text(read_file(run / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      const auto value = nlohmann::json::parse(line);
      if (value.at("kind") == kind) out.push_back(value);
    }
    return out;
  }
  static std::vector<int64_t> steps_of(const std::vector<nlohmann::json>& lines) {
    std::vector<int64_t> out;
    for (const auto& line : lines) out.push_back(line.at("step").get<int64_t>());
    return out;
  }
  static std::vector<int64_t> checkpoints(const std::filesystem::path& run) {
    std::vector<int64_t> out;
    for (const auto& info : list_checkpoints(run / "checkpoints")) out.push_back(info.state.step);
    return out;
  }
  std::string error_of(const TrainConfig& config, const TrainInputs& inputs,
                       const std::filesystem::path& run) const {
    try {
      train(config, inputs, run);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  ToyRun toy_;
  TrainConfig config_ = testing::toy_train_config();
};

void expect_same_weights_and_state(const std::filesystem::path& a, const std::filesystem::path& b) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_TRUE(read_file(a / name) == read_file(b / name)) << name;
  }
  const TrainState first = read_train_state(a / "trainer.json");
  const TrainState second = read_train_state(b / "trainer.json");
  EXPECT_EQ(first.tokens, second.tokens);
  EXPECT_EQ(first.micro_step, second.micro_step);
}

TEST_F(TrainerTest, TenStepsAreFiveAndFive) {
  const TrainResult straight = train(config_, toy_.inputs(), directory("straight"));
  EXPECT_EQ(straight.outcome, TrainOutcome::kFinished);
  EXPECT_EQ(straight.step, 10);
  const TrainResult half = train(config_, stopping_at(5), directory("halves"));
  EXPECT_EQ(half.outcome, TrainOutcome::kInterrupted);
  EXPECT_EQ(half.step, 5);
  EXPECT_EQ(half.checkpoint.filename(), "step_000005");
  // The second process starts from other weights and reads the checkpoint's.
  const TrainResult rest = train(config_, toy_.inputs(/*model_seed=*/99), directory("halves"));
  EXPECT_EQ(rest.outcome, TrainOutcome::kFinished);
  expect_same_weights_and_state(straight.checkpoint, rest.checkpoint);
  EXPECT_EQ(straight.loss, rest.loss);
}

TEST_F(TrainerTest, ResumeIsExactWithDropout) {
  const auto with_dropout = [&](TrainInputs inputs) {
    ModelConfig model = testing::toy_model_config();
    model.dropout = 0.2;
    inputs.model = RetroModel(model, 1);
    return inputs;
  };
  const TrainResult straight = train(config_, with_dropout(toy_.inputs()), directory("straight"));
  train(config_, with_dropout(stopping_at(4)), directory("halves"));
  torch::manual_seed(12345);
  const TrainResult rest = train(config_, with_dropout(toy_.inputs()), directory("halves"));
  expect_same_weights_and_state(straight.checkpoint, rest.checkpoint);
}

// At a due step the interrupt goes before the validation.
TEST_F(TrainerTest, AnInterruptAtADueStepLosesNoValidation) {
  config_.validation_every = 5;
  config_.checkpoint_every = 5;
  const TrainResult straight = train(config_, toy_.inputs(), directory("straight"));
  const TrainResult half = train(config_, stopping_at(5), directory("halves"));
  EXPECT_FALSE(read_train_state(half.checkpoint / "trainer.json").validation);
  const TrainResult rest = train(config_, toy_.inputs(/*model_seed=*/99), directory("halves"));
  expect_same_weights_and_state(straight.checkpoint, rest.checkpoint);
  const auto expected = metrics(directory("straight"), "validation");
  EXPECT_THAT(steps_of(expected), ElementsAre(5, 10));
  EXPECT_EQ(metrics(directory("halves"), "validation"), expected);
  const auto best = [&](const char* run) {
    const auto checkpoint = best_checkpoint(directory(run) / "checkpoints");
    return std::pair(checkpoint->state.step, checkpoint->state.validation);
  };
  EXPECT_EQ(best("halves"), best("straight"));
}

TEST_F(TrainerTest, DataThreadsChangeNothing) {
  const TrainResult one = train(config_, toy_.inputs(), directory("one"));
  config_.data_threads = 3;
  const TrainResult three = train(config_, toy_.inputs(), directory("three"));
  config_.data_threads = 0;
  const TrainResult none = train(config_, toy_.inputs(), directory("none"));
  expect_same_weights_and_state(one.checkpoint, three.checkpoint);
  expect_same_weights_and_state(one.checkpoint, none.checkpoint);
}

TEST_F(TrainerTest, AFailureAtAnyWriteOfACheckpointCostsOnlyTheStepsSince) {
  config_.steps = 6;
  config_.checkpoint_every = 2;
  config_.keep_last = 1;
  const TrainResult straight = train(config_, toy_.inputs(), directory("straight"));
  int64_t num_operations = 0;
  set_file_hook([&](std::string_view, const std::filesystem::path&) { ++num_operations; });
  train(config_, toy_.inputs(), directory("counted"));
  ASSERT_GT(num_operations, 20);
  for (int64_t failing = 0; failing < num_operations; failing += 3) {
    const auto run = directory("failing_" + std::to_string(failing));
    int64_t operation = 0;
    set_file_hook([&](std::string_view, const std::filesystem::path&) {
      if (operation++ == failing) throw Error("the disk is gone");
    });
    EXPECT_EQ(error_of(config_, toy_.inputs(), run), "the disk is gone") << failing;
    set_file_hook({});
    const TrainResult rest = train(config_, toy_.inputs(), run);
    expect_same_weights_and_state(straight.checkpoint, rest.checkpoint);
    EXPECT_EQ(steps_of(metrics(run, "train")), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  }
  set_file_hook({});
}

TEST_F(TrainerTest, ASignalSavesACheckpointAndStops) {
  TrainInputs inputs = toy_.inputs();
  inputs.should_stop = [calls = 0]() mutable {
    if (++calls == 3) std::raise(SIGTERM);
    return false;
  };
  const TrainResult result = train(config_, inputs, directory("signal"));
  EXPECT_EQ(result.outcome, TrainOutcome::kInterrupted);
  // The flag is seen at the latest after the step during which it was raised.
  EXPECT_LE(result.step, 4);
  EXPECT_THAT(checkpoints(directory("signal")), ElementsAre(result.step));
}

TEST_F(TrainerTest, AFinishedRunIsNotTrainedAgain) {
  const TrainResult first = train(config_, toy_.inputs(), directory("run"));
  const std::string weights = read_file(first.checkpoint / "model.safetensors");
  TrainInputs inputs = toy_.inputs(7);
  const TrainResult again = train(config_, inputs, directory("run"));
  EXPECT_EQ(again.outcome, TrainOutcome::kFinished);
  EXPECT_EQ(again.step, 10);
  EXPECT_EQ(again.checkpoint, first.checkpoint);
  EXPECT_TRUE(read_file(again.checkpoint / "model.safetensors") == weights);
}

TEST_F(TrainerTest, RefusesToResumeWithAnotherConfiguration) {
  train(config_, stopping_at(2), directory("run"));
  TrainConfig other = config_;
  other.learning_rate = 5e-3;
  EXPECT_THAT(
      error_of(other, toy_.inputs(), directory("run")),
      AllOf(HasSubstr("train.learning_rate = 0.01, now it is 0.005"), HasSubstr("step_000002")));
  other = config_;
  other.steps = 20;
  EXPECT_THAT(error_of(other, toy_.inputs(), directory("run")), HasSubstr("train.steps = 10"));
  TrainInputs inputs = toy_.inputs();
  ModelConfig model = testing::toy_model_config();
  model.init_std = 0.5;
  inputs.model = RetroModel(model, 1);
  EXPECT_THAT(error_of(config_, inputs, directory("run")), HasSubstr("model.init_std"));
  inputs = toy_.inputs();
  inputs.data_identity = "other text";
  EXPECT_THAT(error_of(config_, inputs, directory("run")), HasSubstr("other text"));
}

TEST_F(TrainerTest, ResumesWithHarmlessChanges) {
  const TrainResult straight = train(config_, toy_.inputs(), directory("straight"));
  train(config_, stopping_at(2), directory("run"));
  config_.log_every = 3;
  config_.validation_every = 4;
  config_.checkpoint_every = 5;
  config_.keep_last = 3;
  const TrainResult rest = train(config_, toy_.inputs(), directory("run"));
  expect_same_weights_and_state(straight.checkpoint, rest.checkpoint);
}

/// Inputs whose weights become NaN after step `step`.
TrainInputs poisoned_after(const ToyRun& toy, int64_t step) {
  TrainInputs inputs = toy.inputs();
  inputs.should_stop = [model = inputs.model, step, calls = int64_t{0}]() mutable {
    torch::NoGradGuard no_gradients;
    if (++calls == step) {
      model->named_parameters()["decoder.norm.weight"].fill_(
          std::numeric_limits<float>::quiet_NaN());
    }
    return false;
  };
  return inputs;
}

TEST_F(TrainerTest, NotANumberStopsWithTheStepAndTheLastGoodCheckpoint) {
  config_.checkpoint_every = 2;
  EXPECT_THAT(error_of(config_, poisoned_after(toy_, 3), directory("nan")),
              AllOf(HasSubstr("step 4"), HasSubstr("loss is nan"), HasSubstr("step_000002")));
  EXPECT_THAT(checkpoints(directory("nan")), ElementsAre(2));
  config_.checkpoint_every = 0;
  EXPECT_THAT(error_of(config_, poisoned_after(toy_, 1), directory("nan2")),
              AllOf(HasSubstr("step 2"), HasSubstr("no checkpoint yet")));
}

TEST_F(TrainerTest, ABadModelIsNotSavedAsGood) {
  config_.checkpoint_every = 2;
  config_.validation_every = 2;
  // The poison acts between the update and the checkpoint of step 2.
  EXPECT_THAT(error_of(config_, poisoned_after(toy_, 2), directory("nan")),
              AllOf(HasSubstr("step 2"), HasSubstr("validation")));
  EXPECT_TRUE(checkpoints(directory("nan")).empty());
}

TEST_F(TrainerTest, KeepsTheLastCheckpointsAndTheBest) {
  config_.checkpoint_every = 1;
  config_.validation_every = 5;
  config_.keep_last = 2;
  const TrainResult result = train(config_, toy_.inputs(), directory("run"));
  std::optional<int64_t> best_step;
  double best = std::numeric_limits<double>::infinity();
  for (const auto& line : metrics(directory("run"), "validation")) {
    const double value = line.at("on").at("bits_per_byte").get<double>();
    if (value <= best) {
      best = value;
      best_step = line.at("step").get<int64_t>();
    }
  }
  // Every checkpoint is validated, so there are ten lines.
  EXPECT_EQ(metrics(directory("run"), "validation").size(), 10U);
  const auto kept = checkpoints(directory("run"));
  EXPECT_THAT(kept, ::testing::IsSupersetOf({int64_t{9}, int64_t{10}}));
  EXPECT_THAT(kept, ::testing::Contains(*best_step));
  EXPECT_LE(kept.size(), 3U);
  EXPECT_EQ(best_checkpoint(directory("run") / "checkpoints")->state.step, *best_step);
  EXPECT_EQ(result.validation->step, 10);
}

TEST_F(TrainerTest, ValidationIsTheLossOnTheValidationText) {
  config_.validation_every = 10;
  config_.validation_sequences = 1000;  // all of them
  const TrainResult result = train(config_, toy_.inputs(), directory("run"));
  RetroModel model = toy_.inputs().model;
  AdamW optimizer(trained_parameters(model), {});
  load_checkpoint(result.checkpoint, model, optimizer);
  model->eval();
  torch::NoGradGuard no_gradients;
  // One sequence that holds the whole text would have other contexts: the trainer's length is kept.
  const EvaluationDataset data(toy_.validation_grid(), testing::ByteTokenizer::kEnd, 3);
  double nats[2] = {0, 0};
  int64_t targets = 0;
  for (int64_t s = 0; s < data.num_sequences(); ++s) {
    for (const int64_t k : {0, 2}) {
      const Batch batch = data.batch(s, 1, &toy_.validation_neighbours(), k);
      const at::Tensor logits = model->logits(model_input(batch)).flatten(0, 1);
      const at::Tensor loss =
          torch::nn::functional::cross_entropy(
              logits, batch.targets_BN.flatten(),
              torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone))
              .masked_select(batch.target_is_real_BN.flatten())
              .sum();
      nats[k / 2] += loss.item<double>();
      if (k == 0) targets += batch.num_targets;
    }
  }
  ASSERT_TRUE(result.validation);
  EXPECT_EQ(result.validation->off.num_targets, targets);
  EXPECT_EQ(result.validation->off.num_bytes, 6 * 22);  // six texts of 22 letters
  // Sums of about 150 float32 losses of a few nats.
  EXPECT_NEAR(result.validation->off.nats, nats[0], 1e-5 * nats[0]);
  EXPECT_NEAR(result.validation->on->nats, nats[1], 1e-5 * nats[1]);
  EXPECT_NE(nats[0], nats[1]);
}

TEST_F(TrainerTest, EpochsEndWithAPartialWindow) {
  config_.steps = 0;
  config_.epochs = 1;
  config_.warmup_steps = 1;
  config_.self_neighbour = {};
  config_.batch_size = 4;
  config_.accumulation = 4;
  // 12 documents of 27 tokens: 84 chunks and the lead chunk are 29 sequences of 3, 8 batches, 2
  // updates.
  const TrainResult two = train(config_, toy_.inputs(), directory("two"));
  EXPECT_EQ(two.step, 2);
  EXPECT_EQ(two.tokens, 12 * 28);  // every token and end of document once
  config_.accumulation = 5;
  const TrainResult partial = train(config_, toy_.inputs(), directory("partial"));
  EXPECT_EQ(partial.step, 2);
  EXPECT_EQ(partial.tokens, 12 * 28);
}

TEST_F(TrainerTest, MetricsSayWhatHappened) {
  config_.clip = 0;
  const TrainResult result = train(config_, toy_.inputs(), directory("run"));
  const auto lines = metrics(directory("run"), "train");
  EXPECT_EQ(steps_of(lines), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_DOUBLE_EQ(lines[0].at("lr").get<double>(), 1e-7);
  EXPECT_DOUBLE_EQ(lines[3].at("lr").get<double>(), 1e-2);
  EXPECT_EQ(lines.back().at("tokens").get<int64_t>(), result.tokens);
  // An untrained model knows nothing: a little over the log of the vocabulary.
  EXPECT_NEAR(lines[0].at("loss").get<double>(), std::log(258.0), 1.0);
  for (const auto& line : lines) {
    EXPECT_GE(line.at("k").get<double>(), 1.0);
    EXPECT_LE(line.at("k").get<double>(), 2.0);
    EXPECT_GT(line.at("tokens_per_second").get<double>(), 0.0);
    EXPECT_GT(line.at("gemm_share").get<double>(), 0.0);
    EXPECT_GT(line.at("grad_norm").get<double>(), 0.0);
  }
}

TEST_F(TrainerTest, ABaselineReadsNoNeighbours) {
  const ToyRun baseline(/*is_baseline=*/true);
  config_.validation_every = 5;
  const TrainResult result = train(config_, baseline.inputs(), directory("baseline"));
  EXPECT_FALSE(result.validation->on);
  for (const auto& line : metrics(directory("baseline"), "train")) EXPECT_EQ(line.at("k"), 0.0);
}

TEST_F(TrainerTest, RefusesWhatDoesNotFitTogether) {
  const auto run = directory("run");
  TrainConfig config = config_;
  config.sequence_length = 10;
  EXPECT_THAT(error_of(config, toy_.inputs(), run), HasSubstr("train.sequence_length"));
  config = config_;
  config.validation_every = 5;
  TrainInputs inputs = toy_.inputs();
  inputs.validation_grid = nullptr;
  EXPECT_THAT(error_of(config, inputs, run), HasSubstr("train.validation_every is 5"));
  inputs = toy_.inputs();
  inputs.training.neighbours = nullptr;
  EXPECT_THAT(error_of(config_, inputs, run), HasSubstr("train.neighbours"));
  inputs = toy_.inputs();
  inputs.training.random_neighbours = nullptr;
  EXPECT_THAT(error_of(config_, inputs, run), HasSubstr("train.useless_neighbours.random_share"));
  config = config_;
  config.steps = 0;
  config.epochs = 1;
  config.warmup_steps = 1000;
  EXPECT_THAT(error_of(config, toy_.inputs(), run), HasSubstr("train.warmup_steps is 1000"));
  ModelConfig model = testing::toy_model_config();
  model.chunk_length = 8;
  inputs = toy_.inputs();
  inputs.model = RetroModel(model, 1);
  EXPECT_THAT(error_of(config_, inputs, run), HasSubstr("model.chunk_length is 8"));
  EXPECT_FALSE(std::filesystem::exists(run / "checkpoints"));
}

}  // namespace
}  // namespace retro
