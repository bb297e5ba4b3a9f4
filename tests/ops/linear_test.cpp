#include "retro/ops/linear.h"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

bool has_bfloat16() { return resolve_precision("auto") == Precision::kBfloat16; }

TEST(Linear, WorkedByHand) {
  const at::Tensor x = at::tensor({1.0F, 2.0F, 3.0F}).view({1, 3});
  const at::Tensor w = at::tensor({1.0F, 0.0F, -1.0F, 2.0F, 2.0F, 2.0F}).view({2, 3});
  expect_close(linear(x, w, Precision::kFloat32), at::tensor({-2.0F, 12.0F}).view({1, 2}), 0.0);
}

struct ProductShape {
  int64_t tokens;
  int64_t in;
  int64_t out;
};

class LinearShapes : public ::testing::TestWithParam<ProductShape> {};

TEST_P(LinearShapes, MatchesTheDefinition) {
  at::manual_seed(1);
  const auto [tokens, in, out] = GetParam();
  const at::Tensor x = at::randn({tokens, in}, at::kDouble);
  const at::Tensor w = at::randn({out, in}, at::kDouble);
  const oracle::Matrix product = oracle::to_matrix(x) * oracle::to_matrix(w).transpose();
  const at::Tensor expected = oracle::to_tensor(product);
  const double magnitude =
      (oracle::to_matrix(x).cwiseAbs() * oracle::to_matrix(w).cwiseAbs().transpose()).maxCoeff();
  expect_close(linear(x, w, Precision::kBfloat16), expected,
               1e-11);  // float64 ignores the precision
  expect_close(linear(x.to(at::kFloat), w.to(at::kFloat), Precision::kFloat32), expected,
               float_bound(in, magnitude));
}

/// Largest errors of output, input gradient and weight gradient against float64.
struct Errors {
  double out;
  double input;
  double weight;
};

TEST_P(LinearShapes, Bfloat16IsAsGoodAsPlainAten) {
  if (!has_bfloat16()) GTEST_SKIP() << "this CPU has no bfloat16 products";
  at::manual_seed(2);
  const auto [tokens, in, out] = GetParam();
  const at::Tensor x = at::randn({tokens, in});
  const at::Tensor w = at::randn({out, in});
  const at::Tensor dy = at::randn({tokens, out});
  const at::Tensor exact_out = at::mm(x.to(at::kDouble), w.to(at::kDouble).t());
  const at::Tensor exact_dx = at::mm(dy.to(at::kDouble), w.to(at::kDouble));
  const at::Tensor exact_dw = at::mm(dy.to(at::kDouble).t(), x.to(at::kDouble));
  const auto half = [](const at::Tensor& tensor) { return tensor.to(at::kBFloat16); };
  const Errors plain{largest_difference(at::mm(half(x), half(w).t()), exact_out),
                     largest_difference(at::mm(half(dy), half(w)), exact_dx),
                     largest_difference(at::mm(half(dy).t(), half(x)), exact_dw)};
  const at::Tensor input = x.clone().requires_grad_(true);
  const at::Tensor weight = w.clone().requires_grad_(true);
  const at::Tensor y = linear(input, weight, Precision::kBfloat16);
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  const auto gradients = torch::autograd::grad({y}, {input, weight}, {dy});
  EXPECT_LE(largest_difference(y, exact_out), 2 * plain.out);
  EXPECT_LE(largest_difference(gradients[0], exact_dx), 3 * plain.input);
  EXPECT_LE(largest_difference(gradients[1], exact_dw), 3 * plain.weight);
  // Rounding really takes place: the result is not the float32 one.
  if (in > 8) {
    EXPECT_GT(largest_difference(y, exact_out), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearShapes,
                         ::testing::Values(ProductShape{1, 1, 1}, ProductShape{1, 64, 33},
                                           ProductShape{33, 31, 32}, ProductShape{7, 9, 5},
                                           ProductShape{64, 128, 512}, ProductShape{65, 127, 129},
                                           ProductShape{300, 513, 70}, ProductShape{515, 300, 1030},
                                           ProductShape{3, 200, 90}, ProductShape{4, 37, 8},
                                           ProductShape{20, 2500, 40}));

TEST(Linear, KeepsLeadingDimensionsAndStrides) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({3, 5, 4}, at::kDouble);
  const at::Tensor w = at::randn({3, 6}, at::kDouble).t();
  const at::Tensor view = x.transpose(0, 2);  // [4, 5, 3]
  const at::Tensor y = linear(view, w, Precision::kFloat32);
  EXPECT_EQ(y.sizes(), at::IntArrayRef({4, 5, 6}));
  expect_close(y, at::matmul(view, w.t()), 1e-13);
  EXPECT_EQ(linear(at::randn({0, 3}), at::randn({2, 3}), Precision::kFloat32).sizes(),
            at::IntArrayRef({0, 2}));
}

TEST(Linear, GradientsMatchCentralDifferences) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, 5, 7}, at::kDouble);
  const at::Tensor w = at::randn({4, 7}, at::kDouble);
  expect_gradients({{"input", x}, {"weight", w}},
                   [&] { return linear(x, w, Precision::kFloat32); });
}

TEST(LinearGroup, EqualsSeparateProducts) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({2, 5, 7}, at::kDouble);
  const at::Tensor first = at::randn({4, 7}, at::kDouble);
  const at::Tensor second = at::randn({9, 7}, at::kDouble);
  const auto outputs = linear_group(x, {first, second}, Precision::kFloat32);
  ASSERT_EQ(outputs.size(), 2);
  expect_close(outputs[0], at::matmul(x, first.t()), 1e-13);
  expect_close(outputs[1], at::matmul(x, second.t()), 1e-13);
  expect_gradients({{"input", x}, {"first", first}, {"second", second}}, [&] {
    const auto both = linear_group(x, {first, second}, Precision::kFloat32);
    return at::cat({both[0], both[1]}, -1);
  });
}

TEST(LinearGroup, UnusedOutputsGiveNoGradient) {
  const at::Tensor x = at::randn({5, 7}).requires_grad_(true);
  const at::Tensor first = at::randn({4, 7}).requires_grad_(true);
  const at::Tensor second = at::randn({4, 7}).requires_grad_(true);
  linear_group(x, {first, second}, Precision::kFloat32)[1].sum().backward();
  EXPECT_FALSE(first.grad().defined());
  EXPECT_TRUE(second.grad().defined());
  expect_close(x.grad(), second.detach().sum(0).expand({5, 7}), 1e-5);
}

TEST(LinearAdd, AddsTheResidual) {
  at::manual_seed(6);
  const at::Tensor residual = at::randn({2, 5, 4}, at::kDouble);
  const at::Tensor x = at::randn({2, 5, 7}, at::kDouble);
  const at::Tensor w = at::randn({4, 7}, at::kDouble);
  const auto run = [&] { return linear_add(residual, x, w, Precision::kFloat32); };
  expect_close(run(), residual + at::matmul(x, w.t()), 1e-13);
  expect_gradients({{"residual", residual}, {"input", x}, {"weight", w}}, run);
  EXPECT_THROW(linear_add(x, x, w, Precision::kFloat32), Error);
}

TEST(Linear, RowsDoNotDependOnEachOther) {
  at::manual_seed(7);
  const at::Tensor x = at::randn({100, 300});
  const at::Tensor w = at::randn({70, 300});
  const at::Tensor all = linear(x, w, Precision::kFloat32);
  EXPECT_TRUE(
      identical(linear(x.narrow(0, 40, 33), w, Precision::kFloat32), all.narrow(0, 40, 33)));
  expect_close(linear(x.narrow(0, 40, 1), w, Precision::kFloat32), all.narrow(0, 40, 1), 1e-4);
}

TEST(Linear, AnyThreadCountGivesTheSameBits) {
  at::manual_seed(8);
  const at::Tensor x = at::randn({300, 700}).requires_grad_(true);
  const at::Tensor w = at::randn({500, 700}).requires_grad_(true);
  const at::Tensor dy = at::randn({300, 500});
  const int threads = at::get_num_threads();
  std::vector<std::vector<at::Tensor>> results;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    const at::Tensor y = linear(x, w, Precision::kFloat32);
    results.push_back(torch::autograd::grad({y}, {x, w}, {dy}));
    results.back().push_back(y.detach());
  }
  at::set_num_threads(threads);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(identical(results[0][i], results[1][i])) << i;
}

TEST(Linear, FrozenWeightGetsNoGradient) {
  const at::Tensor x = at::randn({5, 7}).requires_grad_(true);
  const at::Tensor w = at::randn({4, 7});
  linear(x, w, Precision::kFloat32).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
}

TEST(Linear, RefusesOtherShapesAndTypes) {
  EXPECT_THROW(linear(at::ones({2, 3}), at::ones({4, 2}), Precision::kFloat32), Error);
  EXPECT_THROW(linear(at::ones({2, 3}), at::ones({4, 3}, at::kDouble), Precision::kFloat32), Error);
  EXPECT_THROW(linear(at::ones({2, 3}), at::ones({3}), Precision::kFloat32), Error);
}

TEST(Precision, IsReadFromItsName) {
  EXPECT_EQ(resolve_precision("float32"), Precision::kFloat32);
  EXPECT_EQ(precision_name(Precision::kFloat32), "float32");
  EXPECT_EQ(precision_name(Precision::kBfloat16), "bfloat16");
  EXPECT_THROW(resolve_precision("float16"), Error);
  EXPECT_THROW(resolve_precision(""), Error);
}

}  // namespace
}  // namespace retro
