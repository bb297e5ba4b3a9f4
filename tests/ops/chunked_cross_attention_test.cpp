// Chunked cross-attention against METHOD section 3, position by position.
#include "retro/ops/chunked_cross_attention.h"

#include <limits>

#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "gradient_check.h"
#include "oracle.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

struct ChunkShape {
  int64_t length;      // n
  int64_t chunk;       // m
  int64_t neighbours;  // k
  int64_t retrieved;   // r
  int64_t batch = 2;
  int64_t heads = 2;
  int64_t key_heads = 2;
  int64_t width = 8;
};

ChunkedCrossAttentionOperands random_operands(const ChunkShape& s) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const int64_t chunks = s.length / s.chunk;
  const int64_t keys = s.neighbours * s.retrieved;
  ChunkedCrossAttentionOperands operands;
  operands.query_BNHA = at::randn({s.batch, s.length, s.heads, s.width}, options);
  operands.key_BLTGA = at::randn({s.batch, chunks, keys, s.key_heads, s.width}, options);
  operands.value_BLTGA = at::randn({s.batch, chunks, keys, s.key_heads, s.width}, options);
  operands.relative_XHA = at::randn({s.retrieved + s.chunk - 1, s.heads, s.width}, options);
  operands.content_bias_HA = at::randn({s.heads, s.width}, options);
  operands.position_bias_HA = at::randn({s.heads, s.width}, options);
  operands.key_is_real_BLT = at::rand({s.batch, chunks, keys}).lt(0.8);
  return operands;
}

at::Tensor run(const ChunkedCrossAttentionOperands& operands, const ChunkShape& s) {
  return chunked_cross_attention(operands, s.chunk, s.retrieved, s.chunk - s.retrieved);
}

/// One position at a time: its chunk, its row, its keys.
at::Tensor expected(const ChunkedCrossAttentionOperands& operands, const ChunkShape& s) {
  at::Tensor out = at::zeros_like(operands.query_BNHA);
  const int64_t m = s.chunk;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t p = m - 1; p < s.length; ++p) {
      const int64_t u = (p - (m - 1)) / m;
      const int64_t i = (p - (m - 1)) % m;
      if (operands.row_is_active_BN.defined() && !operands.row_is_active_BN[b][p].item<bool>())
        continue;
      const at::Tensor real = operands.key_is_real_BLT[b][u].contiguous();
      const bool* is_real = real.const_data_ptr<bool>();
      for (int64_t h = 0; h < s.heads; ++h) {
        const int64_t g = h / (s.heads / s.key_heads);
        const oracle::Head head{oracle::to_matrix(operands.query_BNHA[b][p].narrow(0, h, 1)),
                                oracle::to_matrix(operands.key_BLTGA[b][u].select(1, g)),
                                oracle::to_matrix(operands.value_BLTGA[b][u].select(1, g)),
                                oracle::relative_or_empty(operands.relative_XHA, h),
                                oracle::bias_or_zero(operands.content_bias_HA, h, s.width),
                                oracle::bias_or_zero(operands.position_bias_HA, h, s.width)};
        const oracle::Matrix row = oracle::attend(
            head, [&](int64_t, int64_t j) { return is_real[j]; },
            [&](int64_t, int64_t j) {
              const int64_t delta = i - j % s.retrieved + (m - 1);
              return delta - (m - s.retrieved);  // the table starts at distance -(r - m)
            });
        out[b][p][h].copy_(oracle::to_tensor(row)[0]);
      }
    }
  }
  return out;
}

class ChunkedCrossAttention : public ::testing::TestWithParam<ChunkShape> {};

TEST_P(ChunkedCrossAttention, MatchesTheDefinition) {
  at::manual_seed(1);
  const ChunkShape shape = GetParam();
  const ChunkedCrossAttentionOperands operands = random_operands(shape);
  const at::Tensor out = run(operands, shape);
  expect_close(out, expected(operands, shape), 1e-11);
  const int64_t untouched = std::min(shape.chunk - 1, shape.length);
  EXPECT_TRUE(out.narrow(1, 0, untouched).eq(0).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ChunkedCrossAttention,
    ::testing::Values(ChunkShape{14, 4, 2, 8}, ChunkShape{16, 4, 1, 8}, ChunkShape{15, 4, 2, 7},
                      ChunkShape{4, 4, 2, 8}, ChunkShape{5, 4, 1, 1}, ChunkShape{6, 1, 2, 2},
                      ChunkShape{3, 4, 2, 8}, ChunkShape{12, 4, 0, 8}, ChunkShape{40, 8, 10, 16, 1},
                      ChunkShape{14, 4, 2, 8, 1, 6, 2}, ChunkShape{130, 64, 2, 128, 1, 1, 1, 32},
                      ChunkShape{128, 64, 1, 127, 1, 1, 1, 7}, ChunkShape{195, 65, 1, 129, 1, 1, 1},
                      ChunkShape{14, 4, 2, 8, 0}));

TEST(ChunkedCrossAttention, ChunksWithoutNeighboursAndInactiveRowsGetExactlyZero) {
  at::manual_seed(2);
  const ChunkShape shape{14, 4, 2, 8};
  ChunkedCrossAttentionOperands operands = random_operands(shape);
  operands.key_is_real_BLT[0][1] = false;                  // positions 7..10 of sequence 0
  operands.key_is_real_BLT[1][2].narrow(0, 0, 8) = false;  // its first neighbour only
  operands.row_is_active_BN = at::ones({2, 14}, at::kBool);
  operands.row_is_active_BN[1][4] = false;
  const at::Tensor masked = operands.key_is_real_BLT.logical_not().unsqueeze(-1).unsqueeze(-1);
  operands.key_BLTGA.masked_fill_(masked, testing::kNan);
  operands.value_BLTGA.masked_fill_(masked, testing::kNan);
  const at::Tensor out = run(operands, shape);
  expect_close(out, expected(operands, shape), 1e-11);
  EXPECT_TRUE(out[0].narrow(0, 7, 4).eq(0).all().item<bool>());
  EXPECT_TRUE(out[1][4].eq(0).all().item<bool>());
  EXPECT_TRUE(out[1][5].ne(0).all().item<bool>());
}

TEST(ChunkedCrossAttention, NeighboursAreExchangeable) {
  at::manual_seed(3);
  const ChunkShape shape{14, 4, 3, 8};
  const ChunkedCrossAttentionOperands operands = random_operands(shape);
  const auto swapped = [&](const at::Tensor& tensor) {
    return at::cat({tensor.narrow(2, 16, 8), tensor.narrow(2, 0, 16)}, 2);
  };
  ChunkedCrossAttentionOperands permuted = operands;
  permuted.key_BLTGA = swapped(operands.key_BLTGA);
  permuted.value_BLTGA = swapped(operands.value_BLTGA);
  permuted.key_is_real_BLT = swapped(operands.key_is_real_BLT);
  expect_close(run(permuted, shape), run(operands, shape), 1e-13);
}

TEST(ChunkedCrossAttention, EarlierPositionsDoNotDependOnTheLength) {
  at::manual_seed(4);
  const ChunkShape shape{16, 4, 2, 8};
  const ChunkedCrossAttentionOperands operands = random_operands(shape);
  const at::Tensor whole = run(operands, shape);
  for (int64_t length = 0; length < 16; ++length) {
    ChunkedCrossAttentionOperands prefix = operands;
    prefix.query_BNHA = operands.query_BNHA.narrow(1, 0, length);
    prefix.key_BLTGA = operands.key_BLTGA.narrow(1, 0, length / 4);
    prefix.value_BLTGA = operands.value_BLTGA.narrow(1, 0, length / 4);
    prefix.key_is_real_BLT = operands.key_is_real_BLT.narrow(1, 0, length / 4);
    expect_close(run(prefix, shape), whole.narrow(1, 0, length), 1e-13);
  }
}

TEST(ChunkedCrossAttention, GradientsMatchCentralDifferences) {
  at::manual_seed(5);
  for (const ChunkShape& shape : {ChunkShape{14, 4, 2, 8}, ChunkShape{10, 4, 1, 5, 1, 4, 2}}) {
    ChunkedCrossAttentionOperands operands = random_operands(shape);
    operands.key_is_real_BLT[0][1] = false;
    expect_gradients({{"query", operands.query_BNHA},
                      {"key", operands.key_BLTGA},
                      {"value", operands.value_BLTGA},
                      {"relative", operands.relative_XHA},
                      {"content_bias", operands.content_bias_HA},
                      {"position_bias", operands.position_bias_HA}},
                     [&] { return run(operands, shape); });
  }
}

TEST(ChunkedCrossAttention, NamesTheShapeThatDoesNotFit) {
  const ChunkShape shape{14, 4, 2, 8};
  ChunkedCrossAttentionOperands operands = random_operands(shape);
  EXPECT_THROW(chunked_cross_attention(operands, 4, 9, -5), Error);
  EXPECT_THROW(chunked_cross_attention(operands, 5, 8, -4), Error);
  EXPECT_THROW(chunked_cross_attention(operands, 4, 8, -3), Error);
  EXPECT_THROW(chunked_cross_attention(operands, 0, 8, -4), Error);
}

}  // namespace
}  // namespace retro
