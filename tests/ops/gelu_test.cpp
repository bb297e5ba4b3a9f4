#include "retro/ops/gelu.h"

#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

double definition(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(GeluTanh, MatchesTheDefinition) {
  for (const int64_t count : {0, 1, 7, 16, 17, 4001}) {
    const at::Tensor x = at::linspace(-12, 12, count, at::kDouble);
    at::Tensor expected = at::zeros_like(x);
    for (int64_t i = 0; i < count; ++i) expected[i] = definition(x[i].item<double>());
    expect_close(gelu_tanh(x), expected, 1e-14);
    expect_close(gelu_tanh(x.to(at::kFloat)), expected, float_bound(4, 12.0));
  }
}

TEST(GeluTanh, FarFromZeroItIsTheIdentityOrZero) {
  const at::Tensor x = at::tensor({-1e30F, -50.0F, 0.0F, 50.0F, 1e30F});
  EXPECT_TRUE(identical(gelu_tanh(x).abs(), at::tensor({0.0F, 0.0F, 0.0F, 50.0F, 1e30F})));
}

TEST(GeluTanh, GradientsMatchCentralDifferences) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({5, 19}, at::kDouble).mul_(3);
  expect_gradients({{"input", x}}, [&] { return gelu_tanh(x); });
}

TEST(GeluTanh, Float32GradientAgreesWithFloat64) {
  const at::Tensor x = at::linspace(-20, 20, 3001, at::kDouble).requires_grad_(true);
  const at::Tensor narrow = x.detach().to(at::kFloat).requires_grad_(true);
  const at::Tensor expected = torch::autograd::grad({gelu_tanh(x).sum()}, {x})[0];
  const at::Tensor actual = torch::autograd::grad({gelu_tanh(narrow).sum()}, {narrow})[0];
  expect_close(actual, expected, float_bound(4, 20.0));
}

TEST(GeluTanh, KeepsShapeAndAcceptsAnyLayout) {
  const at::Tensor x = at::randn({3, 4, 5}).transpose(0, 2);
  EXPECT_TRUE(identical(gelu_tanh(x), gelu_tanh(x.contiguous())));
  EXPECT_THROW(gelu_tanh(at::ones({2}, at::kLong)), Error);
}

}  // namespace
}  // namespace retro
