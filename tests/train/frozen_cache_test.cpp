// The cache of a frozen base's lower layers: bit for bit what the layers compute.
#include "retro/train/frozen_cache.h"

#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/train/frozen_cost.h"
#include "retro/train/training_step.h"

#include "train/toy_run.h"

namespace retro::testing {
namespace {

namespace fs = std::filesystem;

class FrozenCacheTest : public ::testing::Test {
 protected:
  FrozenCacheTest()
      : base_path_(toy_.directory() / "base.safetensors"),
        path_(toy_.directory() / "frozen.cache") {
    save_weights(RetroModel(toy_model_config(/*is_baseline=*/true), 3), base_path_);
  }
  RetroModel fitted() const {
    const ModelConfig base = read_model_config(base_path_).resolved();
    RetroModel model =
        retrofit(base_path_, retrofit_config(base, toy_model_config()), {1, true, {}});
    // Cross-attention's outputs away from 0, where a wrong stream would not show.
    const at::NoGradGuard no_gradients;
    at::manual_seed(4);
    for (const NamedParameter& parameter : trained_parameters(model))
      at::Tensor(parameter.value).add_(at::randn_like(parameter.value), 0.1);
    return model;
  }
  Batch batch(int64_t micro_step) const {
    TrainingDataConfig config;
    config.chunks_per_sequence = 3;
    config.batch_size = 3;
    config.repeat_packing = true;
    config.curriculum.neighbours = {1};
    return TrainingDataset(toy_.inputs().training, config).batch(micro_step);
  }

  ToyRun toy_;
  fs::path base_path_, path_;
};

TEST_F(FrozenCacheTest, SequencesOfABatchKeepTheirStream) {
  RetroModel model = fitted();
  Batch whole = batch(0);
  whole.frozen_BND = model->frozen_stream(model_input(whole));
  const double nats = summed_loss(model, whole).item<double>();
  double sum = 0;
  int64_t num_targets = 0;
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}}) {
    const Batch some = sequences_of(whole, first, count);
    sum += summed_loss(model, some).item<double>();
    num_targets += some.num_targets;
  }
  EXPECT_NEAR(sum, nats, 1e-5 * nats);
  EXPECT_EQ(num_targets, whole.num_targets);
}

TEST_F(FrozenCacheTest, GivesWhatTheLayersComputeAlsoFromDisk) {
  RetroModel model = fitted();
  const Batch one = batch(0);
  const at::Tensor expected = model->frozen_stream(model_input(one));
  {
    FrozenCache cache(path_, model, 12);
    EXPECT_TRUE(at::equal(cache.stream(model, one), expected));
    EXPECT_EQ(cache.num_read(), 0);
    EXPECT_TRUE(at::equal(cache.stream(model, one), expected));
    EXPECT_EQ(cache.num_read(), 3);
  }
  FrozenCache again(path_, model, 12);
  EXPECT_EQ(again.num_stored(), 3);
  EXPECT_TRUE(at::equal(again.stream(model, one), expected));
  EXPECT_EQ(again.num_read(), 3);
}

TEST_F(FrozenCacheTest, LossAndGradientsAreTheSameBits) {
  RetroModel model = fitted();
  model->train();
  Batch one = batch(0);
  const auto gradients = [&] {
    std::vector<at::Tensor> result;
    for (const NamedParameter& parameter : trained_parameters(model)) {
      result.push_back(parameter.value.grad().clone());
      at::Tensor(parameter.value).mutable_grad().reset();
    }
    return result;
  };
  const at::Tensor plain = summed_loss(model, one);
  plain.backward();
  const auto expected = gradients();
  FrozenCache cache(path_, model, 12);
  one.frozen_BND = cache.stream(model, one);
  const at::Tensor cached = summed_loss(model, one);
  cached.backward();
  EXPECT_TRUE(at::equal(cached, plain));
  const auto actual = gradients();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
}

TEST_F(FrozenCacheTest, TornAndDamagedRecordsAreComputedAgain) {
  RetroModel model = fitted();
  const Batch one = batch(0);
  const at::Tensor expected = model->frozen_stream(model_input(one));
  int64_t record = 0;
  {
    FrozenCache cache(path_, model, 12);
    (void)cache.stream(model, one);
    record = cache.record_bytes();
  }
  const auto size = static_cast<int64_t>(fs::file_size(path_));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(size - 2 * record + 70);  // a value of the second record
    file.put('\x7f');
  }
  fs::resize_file(path_, static_cast<uintmax_t>(size - 5));  // the third one is torn
  FrozenCache cache(path_, model, 12);
  EXPECT_EQ(cache.num_stored(), 2);
  EXPECT_TRUE(at::equal(cache.stream(model, one), expected));
  EXPECT_EQ(cache.num_read(), 1);
  EXPECT_TRUE(at::equal(cache.stream(model, one), expected));
  EXPECT_EQ(cache.num_read(), 4);
}

TEST_F(FrozenCacheTest, AnotherBaseOrFormatBeginsAnew) {
  RetroModel model = fitted();
  { (void)FrozenCache(path_, model, 12).stream(model, batch(0)); }
  EXPECT_EQ(FrozenCache(path_, model, 12).num_stored(), 3);
  save_weights(RetroModel(toy_model_config(true), 9), base_path_);
  RetroModel other = fitted();
  FrozenCache cache(path_, other, 12);
  EXPECT_EQ(cache.num_stored(), 0);
  EXPECT_TRUE(
      at::equal(cache.stream(other, batch(0)), other->frozen_stream(model_input(batch(0)))));
}

/// The second half finds what the first one stored.
TEST_F(FrozenCacheTest, AResumedTrainingReadsItsFile) {
  TrainConfig config = toy_train_config();
  config.steps = 20;
  TrainInputs whole = toy_.inputs();
  whole.model = fitted();
  whole.cache_frozen = true;
  const TrainResult expected = train(config, whole, toy_.directory() / "whole");
  EXPECT_FALSE(fs::exists(toy_.directory() / "whole" / "frozen.cache"));

  TrainInputs half = whole;
  half.model = fitted();
  int64_t steps = 0;
  half.should_stop = [&] { return ++steps == 10; };
  (void)train(config, half, toy_.directory() / "halves");
  const auto stored = fs::file_size(toy_.directory() / "halves" / "frozen.cache");
  TrainInputs rest = whole;
  rest.model = fitted();
  rest.should_stop = [&] {
    // Every epoch has the first one's sequences: ten steps were more than one epoch.
    EXPECT_EQ(fs::file_size(toy_.directory() / "halves" / "frozen.cache"), stored);
    return false;
  };
  const TrainResult result = train(config, rest, toy_.directory() / "halves");
  EXPECT_EQ(read_file(result.checkpoint / "model.safetensors"),
            read_file(expected.checkpoint / "model.safetensors"));
}

TEST(FrozenCost, TheCheaperWayIsNamed) {
  FrozenCost cost;
  cost.compute_seconds = 0.1;
  cost.write_seconds = 0.01;
  cost.read_seconds = 0.001;
  cost.bytes = 1000;
  cost.distinct = 100;
  cost.drawn = 50;
  // 50 x 0.1 against 50 x 0.11.
  EXPECT_DOUBLE_EQ(cost.seconds_without_cache(), 5.0);
  EXPECT_DOUBLE_EQ(cost.seconds_with_cache(), 5.5);
  EXPECT_FALSE(cost.cache_is_cheaper());
  EXPECT_NE(cost.describe().find("computing them again is cheaper"), std::string::npos);
  cost.drawn = 300;  // 30 against 100 x 0.11 + 200 x 0.001
  EXPECT_DOUBLE_EQ(cost.seconds_with_cache(), 11.2);
  EXPECT_TRUE(cost.cache_is_cheaper());
  EXPECT_NE(cost.describe().find("the cache is cheaper"), std::string::npos);
}

}  // namespace
}  // namespace retro::testing
