#include "frozen_linear.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace retro::testing {
namespace {

/// One output without a bias for an input of ones, in bfloat16.
float row_sum(const std::vector<float>& weights) {
  const auto width = static_cast<int64_t>(weights.size());
  const FrozenLinear layer(at::tensor(weights).reshape({1, width}), at::zeros({1}),
                           Precision::kBfloat16);
  const at::Tensor output_TO = layer.forward(at::ones({1, width}, at::kBFloat16));
  EXPECT_EQ(output_TO.scalar_type(), at::kBFloat16);
  return output_TO.to(at::kFloat).item<float>();
}

/// bfloat16 has 8 bits: 1 + 2^-9 becomes 1, on every CPU.
TEST(FrozenLinear, WeightsAreRoundedToBfloat16) {
  std::vector<float> weights(32, 1.0F + 0x1p-9F);
  weights.insert(weights.end(), 32, -1.0F);
  EXPECT_EQ(row_sum(weights), 0.0F) << "2^-4 if they were not";
}

TEST(FrozenLinear, Bfloat16ProductsAreSummedInFloat32) {
  EXPECT_EQ(row_sum({256.0F, 1.0F, -256.0F}), 1.0F) << "257 is no bfloat16";
}

TEST(FrozenLinear, BiasIsRoundedAndGeluIsOfTheSum) {
  const FrozenLinear layer(at::full({1, 2}, 2.0F), at::full({1}, 1.0F + 0x1p-9F),
                           Precision::kBfloat16);
  const at::Tensor input_TI = at::tensor({1.0F, -3.0F}).reshape({1, 2}).to(at::kBFloat16);
  EXPECT_EQ(layer.forward(input_TI).to(at::kFloat).item<float>(), -3.0F);
  // -3 Phi(-3) = -0.0040497, within half a unit in the last place of 8 bits.
  const float gelu = layer.forward(input_TI, Activation::kGelu).to(at::kFloat).item<float>();
  EXPECT_NEAR(gelu, -0.0040497F, 0x1p-16F);
}

}  // namespace
}  // namespace retro::testing
