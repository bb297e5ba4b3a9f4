// Norms, products, activations, losses and rotary positions through the device's side of each
// operation.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/ops/feed_forward.h"
#include "retro/ops/linear.h"
#include "retro/ops/linear_cross_entropy.h"
#include "retro/ops/rms_norm.h"
#include "retro/ops/rotary.h"

#include "device_test_support.h"
#include "ops/cuda/linear_cross_entropy.h"

namespace retro::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

TEST(OpsDevice, RmsNorm) {
  torch::manual_seed(1);
  expect_same_on_device(
      {{"input", torch::randn({3, 5, 33})}, {"gain", torch::randn({33}), true}},
      [](Precision) { return [](const Tensors& t) { return rms_norm(t[0], t[1]); }; });
}

TEST(OpsDevice, LinearGroupOfATransposedInput) {
  torch::manual_seed(2);
  expect_same_on_device({{"input", torch::randn({17, 6})},
                         {"first", torch::randn({9, 17}), true},
                         {"second", torch::randn({5, 17}), true}},
                        [](Precision precision) {
                          return [precision](const Tensors& t) {
                            const auto both = linear_group(t[0].t(), {t[1], t[2]}, precision);
                            return torch::cat({both[0], both[1]}, 1);
                          };
                        });
}

TEST(OpsDevice, LinearAdd) {
  torch::manual_seed(3);
  expect_same_on_device({{"residual", torch::randn({2, 4, 9})},
                         {"input", torch::randn({2, 4, 17})},
                         {"weight", torch::randn({9, 17}), true}},
                        [](Precision precision) {
                          return [precision](const Tensors& t) {
                            return linear_add(t[0], t[1], t[2], precision);
                          };
                        });
}

TEST(OpsDevice, FeedForward) {
  torch::manual_seed(4);
  expect_same_on_device({{"residual", torch::randn({3, 8})},
                         {"input", torch::randn({3, 8})},
                         {"up", torch::randn({20, 8}).mul(0.4), true},
                         {"down", torch::randn({8, 20}).mul(0.3), true}},
                        [](Precision precision) {
                          return [precision](const Tensors& t) {
                            return feed_forward(t[0], t[1], t[2], t[3], precision);
                          };
                        });
}

TEST(OpsDevice, RotaryWithFloat32Tables) {
  torch::manual_seed(5);
  const at::Tensor angle = torch::rand({7, 4}).mul(40);
  expect_same_on_device({{"x", torch::randn({2, 7, 3, 8})}}, [&](Precision) {
    return [&](const Tensors& t) {
      return rotate_pairs(t[0], angle.cos().to(t[0].device()), angle.sin().to(t[0].device()));
    };
  });
}

/// Tokens of weight 0 have targets too; nothing of them may count.
TEST(OpsDevice, LinearCrossEntropy) {
  torch::manual_seed(6);
  const at::Tensor target = torch::randint(50, {9}, torch::kLong);
  const at::Tensor weight = torch::tensor({1.0F, 0.0F, 2.0F, 1.0F, 0.0F, 1.0F, 0.5F, 1.0F, 1.0F});
  expect_same_on_device(
      {{"hidden", torch::randn({9, 16})}, {"weight", torch::randn({50, 16}).mul(0.5), true}},
      [&](Precision precision) {
        return [&, precision](const Tensors& t) {
          const at::Device device = t[0].device();
          return linear_cross_entropy(t[0], t[1], target.to(device), weight.to(device), precision);
        };
      });
}

TEST(OpsDevice, AFrozenOutputWeightHasNoGradient) {
  torch::manual_seed(7);
  const at::Tensor hidden = torch::randn({4, 16}).to(kDevice).requires_grad_(true);
  const at::Tensor weight = torch::randn({30, 16}).to(kDevice);
  const at::Tensor target = torch::zeros({4}, torch::kLong).to(kDevice);
  linear_cross_entropy(hidden, weight, target, torch::ones({4}).to(kDevice), Precision::kFloat32)
      .backward();
  EXPECT_TRUE(hidden.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

TEST(OpsDevice, TheGradientOfAFrozenOutputWeightIsNotFormed) {
  torch::manual_seed(9);
  cuda::LossOperands operands{.hidden_TD = torch::randn({4, 16}).to(kDevice),
                              .weight_VD = torch::randn({30, 16}).to(kDevice),
                              .target_T = torch::zeros({4}, torch::kLong).to(kDevice),
                              .token_weight_T = torch::ones({4}).to(kDevice)};
  const auto frozen = cuda::linear_cross_entropy(operands);
  operands.needs_weight_gradient = true;
  const auto trained = cuda::linear_cross_entropy(operands);
  EXPECT_FALSE(frozen.grad_VD.defined());
  EXPECT_TRUE(trained.grad_VD.defined());
  EXPECT_TRUE(at::equal(frozen.grad_TD.cpu(), trained.grad_TD.cpu()));
}

TEST(OpsDevice, TokenLosses) {
  torch::manual_seed(8);
  const at::Tensor hidden = torch::randn({5, 16}), weight = torch::randn({50, 16}).mul(0.5);
  const at::Tensor target = torch::tensor({3, 0, 49, 7, 7}, torch::kLong);
  const at::Tensor mask = torch::tensor({true, false, true, true, false});
  const at::Tensor expected = token_losses(hidden, weight, target, mask, Precision::kFloat32);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    const at::Tensor actual =
        token_losses(as_activations(hidden.to(kDevice), precision), weight.to(kDevice),
                     target.to(kDevice), mask.to(kDevice), precision);
    expect_near(actual.cpu(), expected, tolerance(precision), precision_name(precision));
    EXPECT_EQ(actual[1].item<float>(), 0.0F);
  }
}

}  // namespace
}  // namespace retro::testing
