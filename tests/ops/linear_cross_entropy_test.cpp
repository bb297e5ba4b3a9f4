#include "retro/ops/linear_cross_entropy.h"

#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

struct Case {
  at::Tensor hidden_TD;
  at::Tensor weight_VD;
  at::Tensor target_T;
  at::Tensor token_weight_T;
};

Case random_case(int64_t tokens, int64_t width, int64_t vocabulary) {
  Case result{at::randn({tokens, width}, at::kDouble), at::randn({vocabulary, width}, at::kDouble),
              at::randint(0, vocabulary, {tokens}, at::kLong), at::rand({tokens}, at::kDouble)};
  result.token_weight_T.masked_fill_(at::rand({tokens}).lt(0.3), 0.0);
  return result;
}

at::Tensor run(const Case& c, Precision precision = Precision::kFloat32) {
  return linear_cross_entropy(c.hidden_TD, c.weight_VD, c.target_T, c.token_weight_T, precision);
}

double expected_loss(const Case& c) {
  const oracle::Matrix hidden = oracle::to_matrix(c.hidden_TD);
  const oracle::Matrix weight = oracle::to_matrix(c.weight_VD);
  double total = 0;
  for (int64_t t = 0; t < c.target_T.size(0); ++t) {
    const double token_weight = c.token_weight_T[t].item<double>();
    if (token_weight == 0) continue;
    total +=
        token_weight * oracle::token_loss(hidden.row(t), weight, c.target_T[t].item<int64_t>());
  }
  return total;
}

TEST(LinearCrossEntropy, WorkedByHand) {
  // Logits (0, log 3): probabilities 1/4 and 3/4.
  const Case c{at::full({1, 1}, std::log(3.0), at::kDouble),
               at::tensor({0.0, 1.0}, at::kDouble).view({2, 1}), at::zeros({1}, at::kLong),
               at::full({1}, 2.0, at::kDouble)};
  EXPECT_NEAR(run(c).item<double>(), 2 * std::log(4.0), 1e-14);
  const at::Tensor hidden = c.hidden_TD.clone().requires_grad_(true);
  const at::Tensor weight = c.weight_VD.clone().requires_grad_(true);
  const auto gradients = torch::autograd::grad(
      {linear_cross_entropy(hidden, weight, c.target_T, c.token_weight_T, Precision::kFloat32)},
      {hidden, weight});
  // d logits = 2 (1/4 - 1, 3/4) = (-1.5, 1.5).
  EXPECT_NEAR(gradients[0].item<double>(), 1.5, 1e-14);
  EXPECT_NEAR(gradients[1][0][0].item<double>(), -1.5 * std::log(3.0), 1e-14);
  EXPECT_NEAR(gradients[1][1][0].item<double>(), 1.5 * std::log(3.0), 1e-14);
}

struct LossShape {
  int64_t tokens;
  int64_t width;
  int64_t vocabulary;
};

class LinearCrossEntropyShapes : public ::testing::TestWithParam<LossShape> {};

TEST_P(LinearCrossEntropyShapes, MatchesTheDefinition) {
  at::manual_seed(1);
  const auto [tokens, width, vocabulary] = GetParam();
  Case c = random_case(tokens, width, vocabulary);
  const double expected = expected_loss(c);
  EXPECT_NEAR(run(c).item<double>(), expected, 1e-11 * (1 + std::abs(expected)));
  c.hidden_TD = c.hidden_TD.to(at::kFloat);
  c.weight_VD = c.weight_VD.to(at::kFloat);
  c.token_weight_T = c.token_weight_T.to(at::kFloat);
  EXPECT_NEAR(run(c).item<double>(), expected,
              float_bound(tokens + width + vocabulary, 1 + 2 * std::abs(expected)));
}

TEST_P(LinearCrossEntropyShapes, GradientsMatchCentralDifferences) {
  at::manual_seed(2);
  const auto [tokens, width, vocabulary] = GetParam();
  if (tokens == 0) return;
  const Case c = random_case(tokens, width, vocabulary);
  expect_gradients(
      {{"hidden", c.hidden_TD}, {"weight", c.weight_VD}}, [&] { return run(c); }, 12);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearCrossEntropyShapes,
                         ::testing::Values(LossShape{0, 4, 5}, LossShape{1, 1, 1},
                                           LossShape{3, 8, 7}, LossShape{33, 32, 65},
                                           LossShape{65, 7, 300}, LossShape{600, 5, 17},
                                           LossShape{40, 16, 5000}));

TEST(LinearCrossEntropy, TokensOfWeightZeroAreNotRead) {
  at::manual_seed(3);
  Case c = random_case(50, 6, 11);
  const double expected = expected_loss(c);
  const at::Tensor skipped = c.token_weight_T.eq(0);
  ASSERT_TRUE(skipped.any().item<bool>());
  c.hidden_TD.masked_fill_(skipped.unsqueeze(1), testing::kNan);
  c.target_T.masked_fill_(skipped, -1);
  c.hidden_TD.requires_grad_(true);
  c.weight_VD.requires_grad_(true);
  const at::Tensor loss = run(c);
  EXPECT_NEAR(loss.item<double>(), expected, 1e-12 * expected);
  const auto gradients = torch::autograd::grad({loss}, {c.hidden_TD, c.weight_VD});
  EXPECT_TRUE(gradients[0].masked_select(skipped.unsqueeze(1)).eq(0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(gradients[1]).all().item<bool>());
}

TEST(LinearCrossEntropy, AllTokensSkippedGiveZeroLossAndGradients) {
  at::manual_seed(4);
  Case c = random_case(9, 6, 11);
  c.token_weight_T.zero_();
  c.hidden_TD.requires_grad_(true);
  const at::Tensor loss = run(c);
  EXPECT_EQ(loss.item<double>(), 0);
  EXPECT_TRUE(torch::autograd::grad({loss}, {c.hidden_TD})[0].eq(0).all().item<bool>());
}

TEST(LinearCrossEntropy, UpstreamGradientScales) {
  at::manual_seed(5);
  Case c = random_case(20, 6, 11);
  c.weight_VD.requires_grad_(true);
  const at::Tensor once = torch::autograd::grad({run(c)}, {c.weight_VD})[0];
  const at::Tensor scaled = torch::autograd::grad({run(c) * 0.25}, {c.weight_VD})[0];
  EXPECT_TRUE(identical(scaled, once * 0.25));
}

TEST(LinearCrossEntropy, LargeLogitsStayFinite) {
  const Case c{at::full({1, 1}, 1e4F), at::tensor({-1.0F, 1.0F}).view({2, 1}),
               at::zeros({1}, at::kLong), at::ones({1})};
  EXPECT_EQ(run(c).item<float>(), 2e4F);
}

TEST(LinearCrossEntropy, AnyThreadCountAgrees) {
  at::manual_seed(6);
  Case c = random_case(300, 32, 500);
  c.weight_VD.requires_grad_(true);
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> gradients;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    gradients.push_back(torch::autograd::grad({run(c)}, {c.weight_VD})[0]);
  }
  at::set_num_threads(threads);
  expect_close(gradients[1], gradients[0], 1e-12);
}

TEST(LinearCrossEntropy, Bfloat16IsAsGoodAsPlainAten) {
  if (resolve_precision("auto") != Precision::kBfloat16)
    GTEST_SKIP() << "this CPU has no bfloat16 products";
  at::manual_seed(7);
  const Case exact = random_case(200, 64, 700);
  const at::Tensor hidden = exact.hidden_TD.to(at::kFloat).requires_grad_(true);
  const at::Tensor weight = (exact.weight_VD * 0.2).to(at::kFloat).requires_grad_(true);
  const at::Tensor token_weight = at::ones({200});
  const auto losses = [&](const at::Tensor& logits) {
    return at::nll_loss(at::log_softmax(logits, 1), exact.target_T, {}, at::Reduction::Sum);
  };
  const at::Tensor wide_hidden = hidden.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor wide_weight = weight.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor true_loss = losses(at::mm(wide_hidden, wide_weight.t()));
  const auto truth = torch::autograd::grad({true_loss}, {wide_hidden, wide_weight});
  const at::Tensor plain_loss =
      losses(at::mm(hidden.to(at::kBFloat16), weight.to(at::kBFloat16).t()).to(at::kFloat));
  const auto plain = torch::autograd::grad({plain_loss}, {hidden, weight});
  const at::Tensor our_loss =
      linear_cross_entropy(hidden, weight, exact.target_T, token_weight, Precision::kBfloat16);
  const auto ours = torch::autograd::grad({our_loss}, {hidden, weight});
  EXPECT_LE(largest_difference(our_loss, true_loss),
            2 * largest_difference(plain_loss, true_loss) + 0.01);
  for (size_t n = 0; n < 2; ++n) {
    EXPECT_LE(largest_difference(ours[n], truth[n]), 3 * largest_difference(plain[n], truth[n]))
        << n;
  }
}

TEST(TokenLosses, MatchTheDefinitionAndTheMask) {
  at::manual_seed(8);
  const Case c = random_case(70, 6, 40);
  const at::Tensor mask = c.token_weight_T.ne(0);
  const at::Tensor losses =
      token_losses(c.hidden_TD, c.weight_VD, c.target_T, mask, Precision::kFloat32);
  EXPECT_EQ(losses.scalar_type(), at::kFloat);
  const oracle::Matrix hidden = oracle::to_matrix(c.hidden_TD);
  const oracle::Matrix weight = oracle::to_matrix(c.weight_VD);
  for (int64_t t = 0; t < 70; ++t) {
    const double expected = mask[t].item<bool>() ? oracle::token_loss(hidden.row(t), weight,
                                                                      c.target_T[t].item<int64_t>())
                                                 : 0.0;
    EXPECT_NEAR(losses[t].item<double>(), expected, 1e-6 * expected);
  }
}

TEST(LinearCrossEntropy, RefusesBadTargetsAndShapes) {
  Case c = random_case(5, 6, 11);
  c.token_weight_T.fill_(1.0);
  c.target_T[3] = 11;
  EXPECT_THROW(run(c), Error);
  c.target_T[3] = -1;
  EXPECT_THROW(run(c), Error);
  c.target_T[3] = 0;
  c.token_weight_T = at::ones({4}, at::kDouble);
  EXPECT_THROW(run(c), Error);
}

}  // namespace
}  // namespace retro
