#include "retro/ops/block_matrix.h"

#include <cstring>

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "retro/core/error.h"
#include "retro/core/quantized_blocks.h"
#include "retro/ops/linear.h"

#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

struct BlockShape {
  int64_t tokens;
  int64_t columns;
  int64_t rows;
  WeightFormat format;
};

std::vector<BlockShape> shapes() {
  std::vector<BlockShape> all;
  for (const WeightFormat format : {WeightFormat::kQ8_0, WeightFormat::kBfloat16}) {
    for (const int64_t tokens : {0, 1, 3, 4, 5, 33}) {
      all.push_back({tokens, 32, 1, format});
      all.push_back({tokens, 96, 7, format});
      all.push_back({tokens, 576, 401, format});
    }
  }
  return all;
}

class BlockLinear : public ::testing::TestWithParam<BlockShape> {
 protected:
  BlockLinear() {
    at::manual_seed(1);
    const auto [tokens, columns, rows, format] = GetParam();
    input_ = at::randn({tokens, columns});
    matrix_ = to_blocks(at::randn({rows, columns}), format);
    decoded_ = from_blocks(matrix_);
  }
  at::Tensor input_, decoded_;
  BlockMatrix matrix_;
};

TEST_P(BlockLinear, EqualsTheDecodedMatrix) {
  const at::Tensor out = block_linear(input_, matrix_, Precision::kFloat32);
  const oracle::Matrix x = oracle::to_matrix(input_), w = oracle::to_matrix(decoded_);
  const double magnitude =
      input_.numel() == 0 ? 0 : (x.cwiseAbs() * w.cwiseAbs().transpose()).maxCoeff();
  expect_close(out, oracle::to_tensor(x * w.transpose()), float_bound(input_.size(1), magnitude));
}

TEST_P(BlockLinear, TheInputsGradientIsThatOfTheDecodedMatrix) {
  if (input_.numel() == 0) GTEST_SKIP() << "no rows, no gradient";
  const at::Tensor direction = at::randn({input_.size(0), matrix_.rows});
  input_.requires_grad_(true);
  const auto out = block_linear(input_, matrix_, Precision::kFloat32);
  const at::Tensor gradient = torch::autograd::grad({out}, {input_}, {direction})[0];
  const oracle::Matrix dy = oracle::to_matrix(direction), w = oracle::to_matrix(decoded_);
  const double magnitude = (dy.cwiseAbs() * w.cwiseAbs()).maxCoeff();
  expect_close(gradient, oracle::to_tensor(dy * w), float_bound(matrix_.rows, magnitude));
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockLinear, ::testing::ValuesIn(shapes()));

/// GGUF's reader judges the layout.
TEST(BlockMatrix, Q8BlocksAreGgufs) {
  at::manual_seed(2);
  const at::Tensor weight = at::randn({3, 64}).mul_(at::randn({3, 1}).exp());
  const BlockMatrix matrix = to_blocks(weight, WeightFormat::kQ8_0);
  ASSERT_EQ(matrix.bytes_RB.sizes(), (std::vector<int64_t>{3, 2 * 34}));
  at::Tensor expected = at::zeros({3, 64});
  dequantize_blocks("Q8_0",
                    {static_cast<const std::byte*>(matrix.bytes_RB.const_data_ptr()),
                     static_cast<size_t>(matrix.bytes_RB.numel())},
                    {expected.data_ptr<float>(), static_cast<size_t>(expected.numel())});
  EXPECT_TRUE(identical(from_blocks(matrix), expected));
  // Half a step of the block's scale, and the scale's own rounding to half precision.
  const at::Tensor largest = weight.view({6, 32}).abs().amax(1, true);
  const at::Tensor error = (from_blocks(matrix) - weight).view({6, 32}).abs();
  EXPECT_TRUE((error <= largest * (0.5 / 127 + 0x1p-11)).all().item<bool>());
}

TEST(BlockMatrix, ZerosStayZerosAndBfloat16IsAtens) {
  const at::Tensor zeros = at::zeros({2, 32});
  EXPECT_TRUE(identical(from_blocks(to_blocks(zeros, WeightFormat::kQ8_0)), zeros));
  at::manual_seed(3);
  const at::Tensor weight = at::randn({5, 64});
  EXPECT_TRUE(identical(from_blocks(to_blocks(weight, WeightFormat::kBfloat16)),
                        weight.to(at::kBFloat16).to(at::kFloat)));
}

TEST(BlockMatrix, RefusesWhatDoesNotFit) {
  EXPECT_THROW(to_blocks(at::ones({2, 33}), WeightFormat::kQ8_0), Error);
  const BlockMatrix matrix = to_blocks(at::ones({2, 32}), WeightFormat::kQ8_0);
  EXPECT_THROW(block_linear(at::ones({1, 31}), matrix, Precision::kFloat32), Error);
  EXPECT_THROW(block_linear(at::ones({1, 32}, at::kDouble), matrix, Precision::kFloat32), Error);
}

}  // namespace
}  // namespace retro
