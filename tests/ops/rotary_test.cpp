#include "retro/ops/rotary.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// A quarter turn takes (x, y) to (-y, x), half a turn to (-x, -y).
TEST(RotaryTest, TurnsPairsOfFeaturesThatStandHalfAHeadApart) {
  const at::Tensor x = at::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}).view({2, 1, 4});
  const at::Tensor cos = at::tensor({1.0, 0.0, -1.0, 0.0}).view({2, 2});
  const at::Tensor sin = at::tensor({0.0, 1.0, 0.0, 1.0}).view({2, 2});
  const at::Tensor expected =
      at::tensor({1.0, -4.0, 3.0, 2.0, -5.0, -8.0, -7.0, 6.0}).view({2, 1, 4});
  EXPECT_TRUE(at::equal(rotate_pairs(x, cos, sin), expected));
  EXPECT_TRUE(
      at::equal(rotate_pairs(x.expand({3, 2, 1, 4}), cos, sin), expected.expand({3, 2, 1, 4})));
}

/// The gradient of sum(g * R x) is R^T g, formed here from the matrix itself.
TEST(RotaryTest, TheGradientTurnsBack) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({2, 5, 3, 8}, at::kDouble).set_requires_grad(true);
  const at::Tensor angle = at::randn({5, 4}, at::kDouble);
  const at::Tensor grad = at::randn({2, 5, 3, 8}, at::kDouble);
  (rotate_pairs(x, angle.cos(), angle.sin()) * grad).sum().backward();
  at::Tensor expected = at::empty_like(grad);
  const at::Tensor cos = angle.cos().unsqueeze(1), sin = angle.sin().unsqueeze(1);
  const at::Tensor first = grad.narrow(3, 0, 4), second = grad.narrow(3, 4, 4);
  expected.narrow(3, 0, 4).copy_(first * cos + second * sin);
  expected.narrow(3, 4, 4).copy_(second * cos - first * sin);
  EXPECT_LT((x.grad() - expected).abs().max().item<double>(), 1e-14);
}

TEST(RotaryTest, AnOddHeadOrOtherAnglesAreRefused) {
  const at::Tensor angles = at::zeros({2, 2});
  EXPECT_THROW(rotate_pairs(at::zeros({2, 1, 5}), angles, angles), Error);
  EXPECT_THROW(rotate_pairs(at::zeros({3, 1, 4}), angles, angles), Error);
  EXPECT_THROW(rotate_pairs(at::zeros({2, 1, 4}, at::kDouble), angles, angles), Error);
}

}  // namespace
}  // namespace retro
