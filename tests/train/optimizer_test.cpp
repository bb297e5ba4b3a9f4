#include "retro/train/optimizer.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;

at::Tensor random_tensor(at::IntArrayRef shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  at::Tensor out = at::empty(shape, at::kFloat);
  for (int64_t i = 0; i < out.numel(); ++i) out.data_ptr<float>()[i] = normal(random);
  return out;
}

std::vector<double> doubles(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.detach().to(at::kDouble).contiguous().flatten();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

TEST(HasWeightDecay, GoesByName) {
  for (const char* name : {"decoder.embed.weight", "decoder.output.weight", "encoder.embed.weight",
                           "decoder.layers.0.self_attention.query.weight",
                           "decoder.layers.0.self_attention.relative.weight",
                           "decoder.layers.11.cross_attention.output.weight",
                           "encoder.layers.0.cross_attention.relative.weight",
                           "encoder.layers.1.feed_forward.down.weight"}) {
    EXPECT_TRUE(has_weight_decay(name)) << name;
  }
  for (const char* name :
       {"decoder.norm.weight", "encoder.norm.weight", "decoder.layers.0.self_attention.norm.weight",
        "encoder.layers.0.cross_attention.context_norm.weight",
        "decoder.layers.0.feed_forward.norm.weight", "decoder.layers.3.self_attention.content_bias",
        "decoder.layers.3.cross_attention.position_bias"}) {
    EXPECT_FALSE(has_weight_decay(name)) << name;
  }
}

/// AdamW in double precision, written from the paper's algorithm 2.
struct Oracle {
  std::vector<double> value;
  std::vector<double> first = std::vector<double>(value.size(), 0.0);
  std::vector<double> second = std::vector<double>(value.size(), 0.0);
  double decay = 0.1;
  int t = 0;

  void step(const std::vector<double>& gradient, double rate, double scale) {
    ++t;
    for (size_t i = 0; i < value.size(); ++i) {
      const double g = gradient[i] * scale;
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.95 * second[i] + 0.05 * g * g;
      const double first_hat = first[i] / (1 - std::pow(0.9, t));
      const double second_hat = second[i] / (1 - std::pow(0.95, t));
      value[i] -= rate * (first_hat / (std::sqrt(second_hat) + 1e-8) + decay * value[i]);
    }
  }
};

class AdamWSizes : public ::testing::TestWithParam<int64_t> {};

TEST_P(AdamWSizes, FollowsTheDoublePrecisionOracle) {
  const int64_t size = GetParam();
  at::Tensor matrix = random_tensor({size}, 1);
  at::Tensor gain = random_tensor({size}, 2);
  Oracle matrix_oracle{doubles(matrix)};
  Oracle gain_oracle{doubles(gain)};
  gain_oracle.decay = 0.0;
  AdamW optimizer({{"a.weight", matrix}, {"norm.weight", gain}}, {});
  constexpr int kSteps = 20;
  double moved = 0;
  for (int t = 0; t < kSteps; ++t) {
    const double rate = 1e-2 / (1 + t);
    const double scale = 0.25;
    moved += rate;
    matrix.mutable_grad() = random_tensor({size}, static_cast<uint32_t>(10 + t));
    gain.mutable_grad() = random_tensor({size}, static_cast<uint32_t>(50 + t));
    matrix_oracle.step(doubles(matrix.grad()), rate, scale);
    gain_oracle.step(doubles(gain.grad()), rate, scale);
    optimizer.step(rate, scale);
  }
  // An update is at most a few times the rate, each with about ten roundings; the value rounds once
  // a step.
  constexpr double kUnit = 0x1p-24;
  for (const auto& [found, oracle] :
       {std::pair{doubles(matrix), matrix_oracle}, std::pair{doubles(gain), gain_oracle}}) {
    for (size_t i = 0; i < found.size(); ++i) {
      const double bound = kUnit * (10 * 5 * moved + kSteps * (std::abs(found[i]) + 1));
      ASSERT_NEAR(found[i], oracle.value[i], bound) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, AdamWSizes,
                         ::testing::Values(1, 7, 8, 31, 32, 33, 32767, 32768, 32769, 70000));

TEST(AdamW, FirstUpdateByHand) {
  at::Tensor weight = at::full({1}, 2.0F);
  AdamW optimizer({{"x.weight", weight}}, {});
  weight.mutable_grad() = at::full({1}, -3.0F);
  optimizer.step(0.5, 1.0);
  // Bias-corrected moments are the gradient and its square: 2 - 0.5 * (-1) - 0.5 * 0.1 * 2 = 2.4
  EXPECT_NEAR(weight.item<double>(), 2.4, 1e-6);
}

TEST(AdamW, ParameterWithoutGradientStaysAndKeepsItsOwnCount) {
  at::Tensor used = at::full({1}, 2.0F);
  at::Tensor unused = at::full({1}, 2.0F);
  AdamW optimizer({{"a.weight", used}, {"b.weight", unused}}, {});
  for (int t = 0; t < 5; ++t) {
    used.mutable_grad() = at::ones({1});
    optimizer.step(0.1, 1.0);
  }
  EXPECT_EQ(unused.item<double>(), 2.0);
  optimizer.zero_gradients();
  EXPECT_FALSE(used.grad().defined());
  unused.mutable_grad() = at::full({1}, -3.0F);
  optimizer.step(0.5, 1.0);
  EXPECT_NEAR(unused.item<double>(), 2.4, 1e-6);  // its first update, bias correction and all
}

TEST(AdamW, NormIsOverAllGradients) {
  at::Tensor a = at::zeros({2});
  at::Tensor b = at::zeros({1});
  at::Tensor c = at::zeros({3});
  AdamW optimizer({{"a.weight", a}, {"b.weight", b}, {"c.weight", c}}, {});
  a.mutable_grad() = at::tensor({1.0F, -2.0F});
  b.mutable_grad() = at::full({1}, 2.0F);
  EXPECT_DOUBLE_EQ(optimizer.gradient_norm(), 3.0);
  optimizer.zero_gradients();
  EXPECT_DOUBLE_EQ(optimizer.gradient_norm(), 0.0);
}

TEST(AdamW, NormDoesNotOverflowNorLoseSmallValues) {
  at::Tensor a = at::zeros({100'000});
  AdamW optimizer({{"a.weight", a}}, {});
  a.mutable_grad() = at::full({100'000}, 1e25F);
  const double unit = 0x1p-24;  // 1e25 and 1e-25 are no float32 numbers
  EXPECT_NEAR(optimizer.gradient_norm(), std::sqrt(1e5) * 1e25, unit * std::sqrt(1e5) * 1e25);
  a.mutable_grad() = at::full({100'000}, 1e-25F);
  EXPECT_NEAR(optimizer.gradient_norm(), std::sqrt(1e5) * 1e-25, unit * std::sqrt(1e5) * 1e-25);
}

TEST(AdamW, GradientsOfAnyLayoutAreRead) {
  at::Tensor weight = at::zeros({2, 3});
  AdamW optimizer({{"a.weight", weight}}, {});
  weight.mutable_grad() = at::tensor({1.0F, -1.0F, 1.0F, 1.0F, -1.0F, -1.0F}).view({3, 2}).t();
  optimizer.step(1.0, 1.0);
  const std::vector<double> expected = {-1, -1, 1, 1, -1, 1};
  const auto found = doubles(weight);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

/// Bits of weights and norm after a few steps with `threads` threads.
std::vector<double> after_steps(int threads) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  at::Tensor weight = random_tensor({100'003}, 3);
  AdamW optimizer({{"a.weight", weight}}, {});
  std::vector<double> out;
  for (uint32_t t = 0; t < 3; ++t) {
    weight.mutable_grad() = random_tensor({100'003}, t);
    out.push_back(optimizer.gradient_norm());
    optimizer.step(1e-3, 1.0);
  }
  at::set_num_threads(before);
  const auto values = doubles(weight);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

TEST(AdamW, ResultsDoNotDependOnTheThreadCount) { EXPECT_TRUE(after_steps(1) == after_steps(3)); }

class AdamWFiles : public ::testing::Test {
 protected:
  /// Two parameters, one of them never updated.
  struct Trained {
    at::Tensor a = random_tensor({5, 7}, 1);
    at::Tensor b = random_tensor({3}, 2);
    AdamW optimizer{{{"a.weight", a}, {"b.weight", b}}, {}};
    void step(uint32_t seed) {
      a.mutable_grad() = random_tensor({5, 7}, seed);
      optimizer.step(1e-2, 1.0);
    }
  };
  std::filesystem::path path() const { return directory_.path() / "optimizer.safetensors"; }
  TemporaryDirectory directory_;
};

TEST_F(AdamWFiles, ARestoredOptimizerGoesOnBitForBit) {
  Trained original;
  for (uint32_t seed = 0; seed < 4; ++seed) original.step(seed);
  original.optimizer.save(path());
  Trained restored;
  {
    torch::NoGradGuard no_gradients;
    restored.a.copy_(original.a);
  }
  restored.optimizer.load(path());
  for (uint32_t seed = 4; seed < 8; ++seed) {
    original.step(seed);
    restored.step(seed);
  }
  EXPECT_TRUE(original.a.equal(restored.a));
  original.optimizer.save(path());
  const std::string first = read_file(path());
  restored.optimizer.save(path());
  EXPECT_TRUE(first == read_file(path()));
}

std::string load_error(AdamW& optimizer, const std::filesystem::path& path) {
  try {
    optimizer.load(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(AdamWFiles, RefusesAnotherModelsState) {
  Trained original;
  original.optimizer.save(path());
  AdamW renamed({{"a.weight", original.a}, {"c.weight", original.b}}, {});
  EXPECT_THAT(load_error(renamed, path()), HasSubstr("c.weight.exp_avg"));
  AdamW reshaped({{"a.weight", random_tensor({7, 5}, 1)}, {"b.weight", original.b}}, {});
  EXPECT_THAT(load_error(reshaped, path()), HasSubstr("a.weight.exp_avg"));
  AdamW smaller({{"a.weight", original.a}}, {});
  EXPECT_THAT(load_error(smaller, path()), HasSubstr("2 tensors"));
}

TEST(AdamW, RefusesOtherTypes) {
  EXPECT_THROW(AdamW({{"a.weight", at::zeros({2}, at::kDouble)}}, {}), Error);
}

}  // namespace
}  // namespace retro
