#include "retro/ops/feed_forward.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/ops/gelu.h"
#include "retro/ops/linear.h"

#include "gradient_check.h"
#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

struct Operands {
  at::Tensor residual;
  at::Tensor input;
  at::Tensor up_FD;
  at::Tensor down_DF;
};

Operands random_operands(int64_t tokens, int64_t width, int64_t inner) {
  return {at::randn({tokens, width}, at::kDouble), at::randn({tokens, width}, at::kDouble),
          at::randn({inner, width}, at::kDouble) * 0.5, at::randn({width, inner}, at::kDouble)};
}

at::Tensor run(const Operands& operands, Precision precision = Precision::kFloat32) {
  return feed_forward(operands.residual, operands.input, operands.up_FD, operands.down_DF,
                      precision);
}

oracle::Matrix expected(const Operands& operands) {
  oracle::Matrix inner =
      oracle::to_matrix(operands.input) * oracle::to_matrix(operands.up_FD).transpose();
  inner = inner.unaryExpr([](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  });
  return oracle::to_matrix(operands.residual) +
         oracle::Matrix(inner * oracle::to_matrix(operands.down_DF).transpose());
}

TEST(FeedForward, MatchesTheDefinition) {
  at::manual_seed(1);
  // 16,500 inner features: blocks of 64 tokens, so that 130 tokens are three blocks.
  for (const auto& [tokens, width, inner] :
       {std::array<int64_t, 3>{0, 3, 5}, {1, 1, 1}, {33, 7, 31}, {130, 3, 16500}}) {
    Operands operands = random_operands(tokens, width, inner);
    const oracle::Matrix truth = expected(operands);
    expect_close(run(operands), oracle::to_tensor(truth), 1e-9);
    for (at::Tensor* tensor :
         {&operands.residual, &operands.input, &operands.up_FD, &operands.down_DF}) {
      *tensor = tensor->to(at::kFloat);
    }
    const double magnitude = 4.0 * static_cast<double>(inner);
    expect_close(run(operands), oracle::to_tensor(truth), float_bound(width + inner, magnitude));
  }
}

TEST(FeedForward, WorksWithoutResidualAndKeepsLeadingDimensions) {
  at::manual_seed(2);
  Operands operands = random_operands(6, 4, 9);
  const at::Tensor with_residual = run(operands);
  const at::Tensor residual = operands.residual;
  operands.residual = at::Tensor();
  expect_close(run(operands) + residual, with_residual, 1e-13);
  operands.input = operands.input.view({2, 3, 4});
  EXPECT_EQ(run(operands).sizes(), at::IntArrayRef({2, 3, 4}));
}

TEST(FeedForward, GradientsMatchCentralDifferences) {
  at::manual_seed(3);
  for (const int64_t inner : {9, 16500}) {
    const Operands operands = random_operands(inner == 9 ? 5 : 70, 3, inner);
    expect_gradients(
        {{"residual", operands.residual},
         {"input", operands.input},
         {"up", operands.up_FD},
         {"down", operands.down_DF}},
        [&] { return run(operands); }, inner == 9 ? 48 : 4);
  }
}

TEST(FeedForward, FrozenWeightsGetNoGradient) {
  at::manual_seed(4);
  const Operands operands = random_operands(5, 3, 9);
  operands.input.requires_grad_(true);
  run(operands).sum().backward();
  EXPECT_TRUE(operands.input.grad().defined());
  EXPECT_FALSE(operands.up_FD.grad().defined());
  EXPECT_FALSE(operands.down_DF.grad().defined());
}

TEST(FeedForward, OnlyTheResidualNeedsAGradient) {
  at::manual_seed(6);
  const Operands operands = random_operands(5, 3, 9);
  operands.residual.requires_grad_(true);
  run(operands).sum().backward();
  EXPECT_TRUE(identical(operands.residual.grad(), at::ones({5, 3}, at::kDouble)));
  EXPECT_FALSE(operands.input.grad().defined());
}

TEST(FeedForward, EqualsItsPartsInBothPrecisions) {
  at::manual_seed(5);
  Operands operands = random_operands(70, 48, 96);
  for (at::Tensor* tensor :
       {&operands.residual, &operands.input, &operands.up_FD, &operands.down_DF}) {
    *tensor = tensor->to(at::kFloat).requires_grad_(true);
  }
  const at::Tensor weight = at::randn({70, 48});
  const std::vector<at::Tensor> variables{operands.residual, operands.input, operands.up_FD,
                                          operands.down_DF};
  for (const Precision precision : {Precision::kFloat32, resolve_precision("auto")}) {
    const at::Tensor parts =
        operands.residual + linear(gelu_tanh(linear(operands.input, operands.up_FD, precision)),
                                   operands.down_DF, precision);
    const at::Tensor whole = run(operands, precision);
    expect_close(whole, parts, 1e-4);
    const auto expected_gradients = torch::autograd::grad({parts}, variables, {weight});
    const auto gradients = torch::autograd::grad({whole}, variables, {weight});
    for (size_t i = 0; i < 4; ++i) expect_close(gradients[i], expected_gradients[i], 1e-3);
  }
}

TEST(FeedForward, RefusesOtherShapes) {
  Operands operands = random_operands(5, 3, 9);
  operands.down_DF = operands.down_DF.t();
  EXPECT_THROW(run(operands), Error);
  operands = random_operands(5, 3, 9);
  operands.residual = at::randn({4, 3}, at::kDouble);
  EXPECT_THROW(run(operands), Error);
}

}  // namespace
}  // namespace retro
