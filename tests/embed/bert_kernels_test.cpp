#include "bert_kernels.h"

#include <tuple>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "retro/core/half.h"
#include "retro/core/random.h"

#include "bert_kernels_tile.h"

namespace retro {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kFloat32Unit = 0x1p-24;

std::vector<float> random_values(int64_t count, const char* name) {
  RandomStream random(3, name);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

Matrix block(const std::vector<float>& values, int64_t rows, int64_t columns, int64_t stride,
             int64_t offset) {
  Matrix result(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result(i, j) = static_cast<double>(values[static_cast<size_t>(i * stride + offset + j)]);
    }
  }
  return result;
}

Matrix expected_attention(const Matrix& query, const Matrix& key, const Matrix& value) {
  Matrix weights = query * key.transpose() / std::sqrt(static_cast<double>(query.cols()));
  for (int64_t i = 0; i < weights.rows(); ++i) {
    weights.row(i) = (weights.row(i).array() - weights.row(i).maxCoeff()).exp();
    weights.row(i) /= weights.row(i).sum();
  }
  return weights * value;
}

float widen(float value) { return value; }
float widen(Bfloat16Bits value) { return float_from_bfloat16(value); }
template <class S>
std::vector<S> narrow(const std::vector<float>& values);
template <>
std::vector<float> narrow(const std::vector<float>& values) {
  return values;
}
template <>
std::vector<Bfloat16Bits> narrow(const std::vector<float>& values) {
  std::vector<Bfloat16Bits> result;
  for (const float value : values) result.push_back(bfloat16_from_float(value));
  return result;
}
template <class S>
std::vector<float> widen_all(const std::vector<S>& values) {
  std::vector<float> result;
  for (const S value : values) result.push_back(widen(value));
  return result;
}

/// Both instruction sets where this CPU has both.
template <class S>
std::vector<BertKernels<S>> all_kernels() {
  return {BertLoops<8>::kernels<S>(), select_bert_kernels<S>()};
}

/// Head 1 of a width of two heads, whose rows hold queries, keys and values side by side.
template <class S>
void check_attention(int64_t length, int64_t head_width) {
  const int64_t stride = 6 * head_width;
  const auto stored = narrow<S>(random_values(length * stride, "query_key_value"));
  const auto values = widen_all(stored);
  const Matrix value = block(values, length, head_width, stride, 5 * head_width);
  const Matrix expected =
      expected_attention(block(values, length, head_width, stride, head_width),
                         block(values, length, head_width, stride, 3 * head_width), value);
  // One rounding per term of two sums (head_width and length long), and of the result where it is
  // bfloat16.
  const double unit = std::is_same_v<S, float> ? 0.0 : 0x1p-8;
  const double bound = 16 * kFloat32Unit * std::sqrt(static_cast<double>(head_width + length)) *
                       (value.cwiseAbs().maxCoeff() + 1);
  for (const BertKernels<S>& kernels : all_kernels<S>()) {
    std::vector<S> context(static_cast<size_t>(length * 2 * head_width), S{});
    AttentionHead<S> head;
    head.query = stored.data() + head_width;
    head.key = stored.data() + 3 * head_width;
    head.value = stored.data() + 5 * head_width;
    head.context = context.data() + head_width;
    head.input_stride = stride;
    head.context_stride = 2 * head_width;
    head.length = length;
    head.head_width = head_width;
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(length, head_width)));
    kernels.attend(head, scratch.data());
    const auto actual = widen_all(context);
    const Matrix got = block(actual, length, head_width, 2 * head_width, head_width);
    const Matrix slack = (expected.cwiseAbs() * unit).array() + bound;
    EXPECT_TRUE(((got - expected).cwiseAbs().array() <= slack.array()).all())
        << length << " x " << head_width;
    EXPECT_TRUE(block(actual, length, head_width, 2 * head_width, 0).isZero(0))
        << "wrote outside its head";
  }
}

class BertAttention : public ::testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

TEST_P(BertAttention, MatchesFloat64) {
  const auto [length, head_width] = GetParam();
  check_attention<float>(length, head_width);
  check_attention<Bfloat16Bits>(length, head_width);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BertAttention,
                         ::testing::Combine(::testing::Values(1, 3, 4, 15, 16, 17, 62, 65, 512),
                                            ::testing::Values(1, 11, 16, 32, 40, 64)));

/// Scores far apart and far from zero: the softmax must not overflow.
TEST(BertAttention, LargeScoresAreSafe) {
  for (const auto& kernels : all_kernels<float>()) {
    const std::vector<float> query = {300, -300, 0};
    const std::vector<float> key = {300, 299, -300};
    const std::vector<float> value = {1, 2, 4};
    std::vector<float> context(3);
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(3, 1)));
    kernels.attend({query.data(), key.data(), value.data(), context.data(), 1, 1, 3, 1},
                   scratch.data());
    EXPECT_NEAR(context[0], 1, 1e-6);
    EXPECT_NEAR(context[1], 4, 1e-6);
    EXPECT_NEAR(context[2], 7.0 / 3, 1e-6);
  }
}

template <class S>
void check_residual_norm(int64_t rows, int64_t width) {
  const auto residual = random_values(rows * width, "residual");
  const auto update = narrow<S>(random_values(rows * width, "update"));
  const auto gain = random_values(width, "gain");
  const auto shift = random_values(width, "shift");
  Matrix expected =
      block(residual, rows, width, width, 0) + block(widen_all(update), rows, width, width, 0);
  for (int64_t i = 0; i < rows; ++i) {
    auto row = expected.row(i).array();
    row -= row.mean();
    row /= std::sqrt(row.square().mean() + 1e-3);
    row = row * block(gain, 1, width, width, 0).array() + block(shift, 1, width, width, 0).array();
  }
  for (const BertKernels<S>& kernels : all_kernels<S>()) {
    std::vector<float> got = residual;
    std::vector<Bfloat16Bits> rounded(got.size());
    kernels.residual_norm(
        {got.data(), update.data(), rounded.data(), gain.data(), shift.data(), rows, width, 1e-3F});
    const Matrix actual = block(got, rows, width, width, 0);
    const double bound = 32 * kFloat32Unit * std::sqrt(static_cast<double>(width)) *
                         (1 + expected.cwiseAbs().maxCoeff());
    EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), bound) << rows << " x " << width;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(rounded[i], bfloat16_from_float(got[i]));
  }
}

TEST(BertResidualNorm, MatchesFloat64) {
  for (const int64_t width : {1, 7, 8, 16, 44, 384}) {
    for (const int64_t rows : {1, 3}) {
      check_residual_norm<float>(rows, width);
      check_residual_norm<Bfloat16Bits>(rows, width);
    }
  }
}

TEST(BertResidualNorm, WithoutUpdateOnlyNormalises) {
  for (const auto& kernels : all_kernels<float>()) {
    std::vector<float> row = {1, 3};
    const std::vector<float> gain = {10, 20};
    const std::vector<float> shift = {1, 2};
    kernels.residual_norm({row.data(), nullptr, nullptr, gain.data(), shift.data(), 1, 2, 0.0F});
    EXPECT_FLOAT_EQ(row[0], -9);
    EXPECT_FLOAT_EQ(row[1], 22);
  }
}

}  // namespace
}  // namespace retro
