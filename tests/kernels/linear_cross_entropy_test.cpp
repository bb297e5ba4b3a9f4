// Fused projection and cross-entropy: kernels on the test's device against float64 loops.
#include "kernels/linear_cross_entropy.h"

#include <random>

#include <gtest/gtest.h>

#include "attention_oracle.h"
#include "bfloat16_values.h"
#include "parity.h"
#include "test_device.h"

namespace retro::testing {
namespace {

template <typename T>
class CrossEntropyParity : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(CrossEntropyParity, ElementTypes);

struct CrossEntropyOutputs {
  Values losses, grad_hidden, grad_weight;
};

struct CrossEntropyCase {
  int64_t tokens, width, vocabulary;
  Values hidden, weight, token_weight, grad_before;
  std::vector<int64_t> targets;
};

Values values_of(const Matrix& matrix) { return {matrix.data(), matrix.data() + matrix.size()}; }

/// `round` stands for what plain code stores: logits, probabilities, gradients.
CrossEntropyOutputs cross_entropy_oracle(const CrossEntropyCase& c, const Round& round) {
  const Eigen::Map<const Matrix> hidden(c.hidden.data(), c.tokens, c.width);
  const Eigen::Map<const Matrix> weight(c.weight.data(), c.vocabulary, c.width);
  Matrix logits = (hidden * weight.transpose()).unaryExpr(round);
  CrossEntropyOutputs result;
  for (int64_t t = 0; t < c.tokens; ++t) {
    const int64_t target = c.targets[static_cast<size_t>(t)];
    const double largest = logits.row(t).maxCoeff();
    const double total = (logits.row(t).array() - largest).exp().sum();
    result.losses.push_back(largest + std::log(total) - logits(t, target));
    for (int64_t v = 0; v < c.vocabulary; ++v) {
      const double probability = round(std::exp(logits(t, v) - largest) / total);
      logits(t, v) =
          round(c.token_weight[static_cast<size_t>(t)] * (probability - (v == target ? 1.0 : 0.0)));
    }
  }
  const Matrix grad_hidden = (logits * weight).unaryExpr(round);
  const Matrix before = Eigen::Map<const Matrix>(c.grad_before.data(), c.vocabulary, c.width);
  result.grad_hidden = values_of(grad_hidden);
  result.grad_weight = values_of(before + (logits.transpose() * hidden).unaryExpr(round));
  return result;
}

/// `is_frozen`: the weight's gradient is not asked for and comes back as it was.
template <typename T>
CrossEntropyOutputs run_cross_entropy(const CrossEntropyCase& c, kernels::CrossEntropyTiles tiles,
                                      bool is_frozen = false) {
  Buffer<T> hidden("hidden", converted<T>(c.hidden));
  Buffer<T> weight("weight", converted<T>(c.weight));
  Buffer<int64_t> targets("targets", c.targets);
  Buffer<float> token_weight("token_weight", converted<float>(c.token_weight));
  Buffer<float> losses("losses", c.targets.size());
  Buffer<T> grad_hidden("grad_hidden", c.hidden.size());
  Buffer<float> grad_weight("grad_weight", converted<float>(c.grad_before), false);
  kernels::LinearCrossEntropyParams<T> params;
  params.hidden = hidden.data();
  params.weight = weight.data();
  params.targets = targets.data();
  params.token_weight = token_weight.data();
  params.losses = losses.data();
  params.grad_hidden = grad_hidden.data();
  params.grad_weight = is_frozen ? nullptr : grad_weight.data();
  params.tokens = c.tokens;
  params.width = c.width;
  params.vocabulary = c.vocabulary;
  Buffer<float> workspace(
      "workspace", static_cast<size_t>(linear_cross_entropy_workspace_floats(params, tiles)));
  params.workspace = workspace.data();
  DeviceGemm<T> gemm;
  launch_linear_cross_entropy(params, tiles, gemm, nullptr);
  return {to_doubles(losses.values()), to_doubles(grad_hidden.values()),
          to_doubles(grad_weight.values())};
}

template <typename T>
CrossEntropyCase random_case(int64_t vocabulary) {
  std::mt19937_64 random(13);
  CrossEntropyCase c{70, 33, vocabulary, {}, {}, {}, {}, {}};
  c.hidden = random_values(c.tokens * c.width, 1.0, random, round_to<T>);
  c.weight = random_values(vocabulary * c.width, 0.5, random, round_to<T>);
  c.grad_before = random_values(vocabulary * c.width, 1.0, random, round_to<float>);
  for (int64_t t = 0; t < c.tokens; ++t) {
    c.targets.push_back(static_cast<int64_t>(random()) & 0x7fffffff);
    c.targets.back() %= vocabulary;
    c.token_weight.push_back(t % 5 == 0 ? 0.0 : 0.25 * static_cast<double>(t % 3 + 1));
  }
  return c;
}

TYPED_TEST(CrossEntropyParity, AFrozenWeightGetsNoGradient) {
  const CrossEntropyCase c = random_case<TypeParam>(100);
  const CrossEntropyOutputs trained = run_cross_entropy<TypeParam>(c, {32, 64});
  const CrossEntropyOutputs frozen = run_cross_entropy<TypeParam>(c, {32, 64}, true);
  EXPECT_EQ(frozen.losses, trained.losses);
  EXPECT_EQ(frozen.grad_hidden, trained.grad_hidden);
  EXPECT_EQ(frozen.grad_weight, c.grad_before);
}

TYPED_TEST(CrossEntropyParity, TilesOfTokensAndVocabulary) {
  for (const int64_t vocabulary : {1, 63, 64, 65, 300}) {
    const CrossEntropyCase c = random_case<TypeParam>(vocabulary);
    const CrossEntropyOutputs exact = cross_entropy_oracle(c, [](double x) { return x; });
    const CrossEntropyOutputs plain = cross_entropy_oracle(c, round_to<TypeParam>);
    const CrossEntropyOutputs actual = run_cross_entropy<TypeParam>(c, {32, 64});
    SCOPED_TRACE(vocabulary);
    // A logit's error enters its probability as a relative one, twice with the denominator's.
    const double logit_error = float_bound(c.width, 33.0 * 3.0);
    const double gradient_error = 6.0 * logit_error;
    const double weight_error = gradient_error * static_cast<double>(c.tokens);
    if (sizeof(TypeParam) == 4) {
      EXPECT_LE(largest_difference(actual.losses, exact.losses), 2.0 * logit_error);
      EXPECT_LE(largest_difference(actual.grad_hidden, exact.grad_hidden), gradient_error);
      EXPECT_LE(largest_difference(actual.grad_weight, exact.grad_weight), weight_error);
    } else {
      expect_within_plain_error(actual.losses, plain.losses, exact.losses, 2.0, 2.0 * logit_error,
                                "losses");
      expect_within_plain_error(actual.grad_hidden, plain.grad_hidden, exact.grad_hidden, 3.0,
                                gradient_error, "grad_hidden");
      expect_within_plain_error(actual.grad_weight, plain.grad_weight, exact.grad_weight, 3.0,
                                weight_error, "grad_weight");
    }
  }
}

TEST(CrossEntropyKernel, WorkedByHand) {
  // Logits (0, ln 3): the loss of target 1 is ln(4/3), its gradient (1/4, -1/4).
  const CrossEntropyCase c{1, 1, 2, {1.0}, {0.0, std::log(3.0)}, {2.0}, {0.0, 1.0}, {1}};
  const CrossEntropyOutputs actual = run_cross_entropy<float>(c, {1, 1});
  EXPECT_NEAR(actual.losses[0], std::log(4.0 / 3.0), 1e-6);
  EXPECT_NEAR(actual.grad_hidden[0], -0.5 * std::log(3.0), 1e-6);
  EXPECT_NEAR(actual.grad_weight[0], 0.5, 1e-6);
  EXPECT_NEAR(actual.grad_weight[1], 0.5, 1e-6);
}

}  // namespace
}  // namespace retro::testing
