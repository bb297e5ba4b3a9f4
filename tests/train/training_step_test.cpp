#include "retro/train/training_step.h"

#include <cmath>
#include <deque>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "sequence_share.h"
#include "train/toy_run.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::ToyRun;

/// With epsilon 1 the first update is lr * g / (|g| + 1): smooth in the gradient, so that two ways
/// of forming it can be compared.
AdamWConfig smooth_config() {
  AdamWConfig config;
  config.epsilon = 1.0;
  config.weight_decay = 0.0;
  return config;
}

class TrainingStepTest : public ::testing::Test {
 protected:
  /// A model, its optimizer and what a step of it does.
  struct Learner {
    RetroModel model{testing::toy_model_config(), 3};
    AdamW optimizer{trained_parameters(model), smooth_config()};
    ThreadShare share = ThreadShare::kAuto;
    StepResult step(std::deque<Batch> batches, int64_t count, double clip) {
      const auto next = [&] {
        Batch batch = std::move(batches.front());
        batches.pop_front();
        return batch;
      };
      return training_step(model, optimizer, next, count,
                           {.learning_rate = 0.1, .clip = clip, .share = share});
    }
  };

  /// Two sequences: the last one is mostly fill, so the two have quite different numbers of
  /// targets.
  Batch both() const { return dataset_.batch(sequences_, &neighbours_, 1); }
  Batch one(size_t i) const { return dataset_.batch({&sequences_[i], 1}, &neighbours_, 1); }

  ToyRun toy_;
  testing::OwnNeighbours neighbours_{toy_.train_grid()};
  EvaluationDataset dataset_{toy_.train_grid(), ByteTokenizer::kEnd, 10};
  std::vector<int64_t> sequences_{0, dataset_.num_sequences() - 1};
};

/// Largest difference over all parameters.
double distance(const RetroModel& a, const RetroModel& b) {
  double largest = 0;
  const auto of_b = b->named_parameters();
  for (const auto& item : a->named_parameters()) {
    const at::Tensor difference = item.value().detach() - of_b[item.key()].detach();
    largest = std::max(largest, difference.abs().max().item<double>());
  }
  return largest;
}

TEST_F(TrainingStepTest, AccumulationEqualsTheBigBatch) {
  ASSERT_GT(one(0).num_targets, one(1).num_targets + 10);
  Learner whole;
  Learner parts;
  Learner start;
  const StepResult a = whole.step({both()}, 1, 0.0);
  const StepResult b = parts.step({one(0), one(1)}, 2, 0.0);
  EXPECT_EQ(a.num_targets, b.num_targets);
  EXPECT_NEAR(a.loss, b.loss, 1e-5);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-4 * a.gradient_norm);
  const double moved = distance(whole.model, start.model);
  EXPECT_GT(moved, 1e-4);
  EXPECT_LT(distance(whole.model, parts.model), 1e-3 * moved);
}

TEST_F(TrainingStepTest, LossIsTheMeanOverRealTargets) {
  Learner learner;
  torch::NoGradGuard no_gradients;
  const Batch batch = both();
  const at::Tensor logits_TV = learner.model->logits(model_input(batch)).flatten(0, 1);
  const at::Tensor log_p_TV = torch::log_softmax(logits_TV.to(at::kDouble), 1);
  const at::Tensor nats_T = -log_p_TV.gather(1, batch.targets_BN.flatten().unsqueeze(1)).squeeze(1);
  const at::Tensor real_T = batch.target_is_real_BN.flatten();
  const double expected = nats_T.masked_select(real_T).mean().item<double>();
  torch::AutoGradMode with_gradients(true);
  const StepResult result = learner.step({batch}, 1, 0.0);
  EXPECT_NEAR(result.loss, expected, 1e-5);
  EXPECT_EQ(result.num_targets, real_T.sum().item<int64_t>());
}

TEST_F(TrainingStepTest, ClipsTheMeanGradientOnceAfterAccumulation) {
  // Gradients by plain autograd of the mean loss.
  RetroModel reference(testing::toy_model_config(), 3);
  const Batch batch = both();
  (summed_loss(reference, batch) / static_cast<double>(batch.num_targets)).backward();
  double squares = 0;
  for (const at::Tensor& p : reference->parameters()) {
    if (p.grad().defined()) squares += p.grad().to(at::kDouble).square().sum().item<double>();
  }
  const double norm = std::sqrt(squares);
  const double clip = norm / 4;
  {
    torch::NoGradGuard no_gradients;
    for (at::Tensor& p : reference->parameters()) {
      if (!p.grad().defined()) continue;
      const at::Tensor g = p.grad() / 4;
      p -= 0.1 * g / (g.abs() + 1.0);
    }
  }
  Learner learner;
  const StepResult result = learner.step({one(0), one(1)}, 2, clip);
  EXPECT_NEAR(result.gradient_norm, norm, 1e-4 * norm);
  Learner start;
  EXPECT_LT(distance(learner.model, reference), 1e-3 * distance(start.model, reference));
}

TEST_F(TrainingStepTest, AnInfiniteLossUpdatesNothing) {
  Learner learner;
  Learner untouched;
  {
    torch::NoGradGuard no_gradients;
    for (RetroModel model : {learner.model, untouched.model}) {
      model->named_parameters()["decoder.norm.weight"][0].fill_(
          std::numeric_limits<float>::quiet_NaN());
    }
  }
  const StepResult result = learner.step({one(0), one(1)}, 2, 1.0);
  EXPECT_FALSE(std::isfinite(result.loss));
  const auto before = untouched.model->named_parameters();
  for (const auto& item : learner.model->named_parameters()) {
    EXPECT_TRUE(item.value().equal(before[item.key()]) || item.key() == "decoder.norm.weight");
    EXPECT_FALSE(item.value().grad().defined());
  }
}

/// Some number of threads while it lives.
class ThreadsGuard {
 public:
  explicit ThreadsGuard(int threads) { at::set_num_threads(threads); }
  ~ThreadsGuard() { at::set_num_threads(previous_); }
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  int previous_ = at::get_num_threads();
};

class SharedSequencesTest : public TrainingStepTest {
 protected:
  /// Three sequences for two threads, of unequal numbers of targets.
  Batch three() const {
    const std::vector<int64_t> sequences = {0, 1, dataset_.num_sequences() - 1};
    return dataset_.batch(sequences, &neighbours_, 1);
  }

  ThreadsGuard threads_{2};
};

TEST_F(SharedSequencesTest, SequencesAreSharedOnlyWhereThatIsPossible) {
  Learner learner;
  const auto threads_for = [&](int64_t sequences, ThreadShare share) {
    return sequence_threads(learner.model, learner.optimizer, sequences, share);
  };
  EXPECT_EQ(threads_for(2, ThreadShare::kAuto), 2);
  EXPECT_EQ(threads_for(3, ThreadShare::kSequences), 2);
  EXPECT_EQ(threads_for(1, ThreadShare::kSequences), 1) << "fewer than threads";
  EXPECT_EQ(threads_for(3, ThreadShare::kProducts), 1);
  ModelConfig dropping = testing::toy_model_config();
  dropping.dropout = 0.1;
  RetroModel model(dropping, 3);
  const AdamW optimizer(trained_parameters(model), {});
  EXPECT_EQ(sequence_threads(model, optimizer, 3, ThreadShare::kSequences), 1)
      << "its draws would depend on which thread comes first";
}

TEST_F(SharedSequencesTest, ThreadsOfTheirOwnSequencesGiveTheStepOfSharedProducts) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kBlock}) {
    Learner products, sequences, start;
    products.share = ThreadShare::kProducts;
    sequences.share = ThreadShare::kSequences;
    for (Learner* learner : {&products, &sequences}) learner->model->set_recompute(recompute);
    const StepResult a = products.step({three(), one(0)}, 2, 1.0);
    const StepResult b = sequences.step({three(), one(0)}, 2, 1.0);
    EXPECT_EQ(a.num_targets, b.num_targets);
    EXPECT_NEAR(a.loss, b.loss, 1e-5);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-4 * a.gradient_norm);
    const double moved = distance(products.model, start.model);
    EXPECT_GT(moved, 1e-4);
    EXPECT_LT(distance(products.model, sequences.model), 1e-3 * moved);
  }
}

TEST_F(SharedSequencesTest, TheStepIsTheSameBitForBitEachTime) {
  Learner first;
  first.share = ThreadShare::kSequences;
  // Of two micro-batches: a sum of two parts alone is the same in either order.
  first.step({three(), three()}, 2, 1.0);
  for (int time = 0; time < 5; ++time) {
    Learner again;
    again.share = ThreadShare::kSequences;
    again.step({three(), three()}, 2, 1.0);
    EXPECT_EQ(distance(first.model, again.model), 0.0);
  }
}

TEST_F(SharedSequencesTest, AnInfiniteLossOfOneThreadUpdatesNothing) {
  Learner learner, untouched;
  learner.share = ThreadShare::kSequences;
  Batch batch = three();
  // Only the last sequence reads token 7, whose embedding is not a number.
  batch.tokens_BN = batch.tokens_BN.where(batch.tokens_BN.ne(7), 8);
  batch.tokens_BN[2][0].fill_(7);
  batch.neighbours_BLKR = at::Tensor();
  {
    torch::NoGradGuard no_gradients;
    for (RetroModel model : {learner.model, untouched.model}) {
      model->named_parameters()["decoder.embed.weight"][7].fill_(
          std::numeric_limits<float>::quiet_NaN());
    }
  }
  const StepResult result = learner.step({batch}, 1, 1.0);
  EXPECT_FALSE(std::isfinite(result.loss));
  const auto before = untouched.model->named_parameters();
  for (const auto& item : learner.model->named_parameters()) {
    EXPECT_TRUE(item.value().nan_to_num(0).equal(before[item.key()].nan_to_num(0))) << item.key();
    EXPECT_FALSE(item.value().grad().defined());
  }
}

TEST(NumUpdates, APartialWindowCounts) {
  EXPECT_EQ(num_updates(7, 4), 2);
  EXPECT_EQ(num_updates(8, 4), 2);
  EXPECT_EQ(num_updates(9, 4), 3);
  EXPECT_EQ(num_updates(1, 4), 1);
  EXPECT_EQ(num_updates(0, 4), 0);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST_F(TrainingStepTest, MemoryIsFlatOverSteps) {
  Learner learner;
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) learner.step({one(0)}, 1, 1.0);
  };
  steps(100);
  const int64_t before = resident_bytes();
  steps(900);
  // One float kept for every activation of a step would be tens of megabytes.
  EXPECT_LT(resident_bytes() - before, 4 << 20);
}

}  // namespace
}  // namespace retro
