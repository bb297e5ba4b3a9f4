#include "retro/ops/embedding.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

TEST(Embedding, GathersRowsAndPadsWithZeros) {
  const at::Tensor weight = at::arange(6, at::kFloat).view({3, 2});
  const at::Tensor ids = at::tensor({2, -1, 0, 2}, at::kLong).view({2, 2});
  const at::Tensor expected = at::tensor({4.F, 5.F, 0.F, 0.F, 0.F, 1.F, 4.F, 5.F}).view({2, 2, 2});
  EXPECT_TRUE(identical(embed_tokens(weight, ids), expected));
}

TEST(Embedding, SumsTheGradientOfEveryRow) {
  const at::Tensor weight = at::zeros({4, 1}, at::kDouble).requires_grad_(true);
  const at::Tensor ids = at::tensor({2, -1, 0, 2, 2}, at::kLong);
  const at::Tensor upstream =
      at::tensor({1.0, 10.0, 100.0, 1000.0, 10000.0}, at::kDouble).view({5, 1});
  const at::Tensor gradient =
      torch::autograd::grad({embed_tokens(weight, ids)}, {weight}, {upstream})[0];
  EXPECT_TRUE(
      identical(gradient, at::tensor({100.0, 0.0, 11001.0, 0.0}, at::kDouble).view({4, 1})));
}

TEST(Embedding, GradientsMatchCentralDifferences) {
  at::manual_seed(1);
  const at::Tensor weight = at::randn({9, 5}, at::kDouble);
  const at::Tensor ids = at::randint(-1, 9, {4, 20}, at::kLong);
  expect_gradients({{"weight", weight}}, [&] { return embed_tokens(weight, ids); });
}

TEST(Embedding, AnyThreadCountGivesTheSameBits) {
  at::manual_seed(2);
  const at::Tensor weight = at::randn({50, 512}).requires_grad_(true);
  const at::Tensor ids = at::randint(-1, 50, {4000}, at::kLong);
  const at::Tensor upstream = at::randn({4000, 512});
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> gradients;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    gradients.push_back(
        torch::autograd::grad({embed_tokens(weight, ids)}, {weight}, {upstream})[0]);
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(identical(gradients[0], gradients[1]));
}

TEST(Embedding, AcceptsEmptyAndStridedIds) {
  const at::Tensor weight = at::randn({3, 2});
  EXPECT_EQ(embed_tokens(weight, at::zeros({0, 4}, at::kLong)).sizes(), at::IntArrayRef({0, 4, 2}));
  const at::Tensor ids = at::tensor({0, 1, 2, 1}, at::kLong).view({2, 2}).t();
  EXPECT_TRUE(identical(embed_tokens(weight, ids), embed_tokens(weight, ids.contiguous())));
}

TEST(Embedding, RefusesIdsOutsideTheVocabulary) {
  const at::Tensor weight = at::randn({3, 2});
  EXPECT_THROW(embed_tokens(weight, at::tensor({0, 3}, at::kLong)), Error);
  EXPECT_THROW(embed_tokens(weight, at::tensor({-2}, at::kLong)), Error);
  EXPECT_THROW(embed_tokens(weight, at::tensor({1}, at::kInt)), Error);
}

}  // namespace
}  // namespace retro
