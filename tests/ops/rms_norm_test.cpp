#include "retro/ops/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

TEST(RmsNorm, WorkedByHand) {
  // Mean square of (3, 4, 0, 5) is 12.5; with epsilon 3.5 the root is 4.
  const at::Tensor x = at::tensor({3.0, 4.0, 0.0, 5.0}, at::kDouble);
  const at::Tensor gain = at::tensor({1.0, 2.0, 3.0, -4.0}, at::kDouble);
  expect_close(rms_norm(x, gain, 3.5), at::tensor({0.75, 2.0, 0.0, -5.0}, at::kDouble), 1e-15);
}

TEST(RmsNorm, MatchesTheDefinition) {
  at::manual_seed(1);
  for (const int64_t width : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 512, 896}) {
    for (const int64_t rows : {0, 1, 63, 64, 129}) {
      const at::Tensor x = at::randn({rows, width}, at::kDouble);
      const at::Tensor gain = at::randn({width}, at::kDouble);
      const oracle::Matrix expected =
          oracle::rms_norm(oracle::to_matrix(x), oracle::to_matrix(gain.unsqueeze(1)), 1e-6);
      expect_close(rms_norm(x, gain), oracle::to_tensor(expected), 1e-13);
      expect_close(rms_norm(x.to(at::kFloat), gain.to(at::kFloat)), oracle::to_tensor(expected),
                   float_bound(width, 16.0));
    }
  }
}

TEST(RmsNorm, AcceptsAnyLayout) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({5, 3, 12}, at::kDouble);
  const at::Tensor gain = at::randn({5}, at::kDouble);
  const at::Tensor transposed = x.transpose(0, 2);
  expect_close(rms_norm(transposed, gain), rms_norm(transposed.contiguous(), gain), 0.0);
  EXPECT_EQ(rms_norm(transposed, gain).sizes(), transposed.sizes());
}

TEST(RmsNorm, GradientsMatchCentralDifferences) {
  at::manual_seed(3);
  // A large epsilon: rows near zero would be too curved for differences of 1e-5.
  for (const int64_t width : {1, 7, 33}) {
    const at::Tensor x = at::randn({70, 2, width}, at::kDouble);
    const at::Tensor gain = at::randn({width}, at::kDouble);
    expect_gradients({{"input", x}, {"gain", gain}}, [&] { return rms_norm(x, gain, 0.1); });
  }
}

TEST(RmsNorm, AnyThreadCountGivesTheSameGainGradient) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({1000, 40});
  const at::Tensor gain = at::randn({40}).requires_grad_(true);
  const at::Tensor weight = at::randn({1000, 40});
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> gradients;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    gradients.push_back(torch::autograd::grad({rms_norm(x, gain)}, {gain}, {weight})[0]);
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(identical(gradients[0], gradients[1]));
  EXPECT_TRUE(identical(gradients[0], gradients[2]));
}

TEST(RmsNorm, ZeroRowStaysZeroAndFinite) {
  const at::Tensor x = at::zeros({2, 8}).requires_grad_(true);
  const at::Tensor out = rms_norm(x, at::ones({8}));
  EXPECT_TRUE(out.eq(0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(torch::autograd::grad({out.sum()}, {x})[0]).all().item<bool>());
}

TEST(RmsNorm, RefusesOtherWidthsAndTypes) {
  EXPECT_THROW(rms_norm(at::ones({2, 3}), at::ones({4})), Error);
  EXPECT_THROW(rms_norm(at::ones({2, 4}), at::ones({4}, at::kDouble)), Error);
  EXPECT_THROW(rms_norm(at::ones({2, 4}, at::kLong), at::ones({4}, at::kLong)), Error);
}

}  // namespace
}  // namespace retro
