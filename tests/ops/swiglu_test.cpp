#include "retro/ops/swiglu.h"

#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

TEST(Swiglu, MatchesTheDefinition) {
  for (const int64_t count : {0, 1, 7, 8, 9, 31, 4001}) {
    const at::Tensor gate = at::linspace(-12, 12, count, at::kDouble).requires_grad_(true);
    const at::Tensor up = at::linspace(3, -2, count, at::kDouble);
    at::Tensor expected = at::zeros({count}, at::kDouble);
    for (int64_t i = 0; i < count; ++i) {
      const double g = gate[i].item<double>();
      expected[i] = g / (1 + std::exp(-g)) * up[i].item<double>();
    }
    expect_close(swiglu(gate, up).detach(), expected, 1e-14);
    const at::Tensor narrow = swiglu(gate.detach().to(at::kFloat), up.to(at::kFloat));
    expect_close(narrow, expected, float_bound(4, 36.0));
  }
}

TEST(Swiglu, FarFromZeroItIsTheProductOrZero) {
  const at::Tensor gate = at::tensor({-1e30F, -200.0F, 0.0F, 50.0F, 1e30F}),
                   two = at::ones({5}) + 1;
  const at::Tensor expected = at::tensor({0.0F, 0.0F, 0.0F, 100.0F, 2e30F});
  EXPECT_TRUE(identical(swiglu(gate, two).abs(), expected));
}

TEST(Swiglu, GradientsMatchCentralDifferences) {
  at::manual_seed(1);
  const at::Tensor gate = at::randn({5, 19}, at::kDouble).mul_(3);
  const at::Tensor up = at::randn({5, 19}, at::kDouble);
  expect_gradients({{"gate", gate}, {"up", up}}, [&] { return swiglu(gate, up); });
}

TEST(Swiglu, WithoutGradientsTheResultIsTheSameAndTheInputsStay) {
  at::manual_seed(2);
  const at::Tensor gate = at::randn({3, 17}), up = at::randn({3, 17});
  const at::Tensor expected = swiglu(gate, up), gate_before = gate.clone();
  const at::NoGradGuard no_gradients;
  const at::Tensor result = swiglu(gate, up);
  EXPECT_TRUE(identical(result, expected));
  EXPECT_TRUE(identical(gate, gate_before));
}

TEST(Swiglu, RefusesDifferentShapes) {
  EXPECT_THROW(swiglu(at::ones({2, 3}), at::ones({3, 2})), Error);
  EXPECT_THROW(swiglu(at::ones({2}), at::ones({2}, at::kDouble)), Error);
}

}  // namespace
}  // namespace retro
