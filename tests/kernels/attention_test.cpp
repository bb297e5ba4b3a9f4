// Relative attention and chunked cross-attention: kernels on the test's device against the oracle.
#include <gtest/gtest.h>

#include "attention_parity.h"
#include "attention_runner.h"
#include "test_device.h"

namespace retro::testing {
namespace {

template <typename T>
class AttentionParity : public ::testing::Test {
 public:
  static AttentionBackend backend() {
    return {kDeviceName,
            [](const AttentionCase& problem) { return AttentionRunner<T, Buffer>(problem).run(); }};
  }
};
using ElementTypes = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(AttentionParity, ElementTypes);

TYPED_TEST(AttentionParity, DecoderSelfAttention) {
  for (const int64_t length : {1, 31, 64, 65, 130}) {
    expect_attention_parity<TypeParam>({.name = "length " + std::to_string(length),
                                        .length = length,
                                        .keys = length,
                                        .heads = 2,
                                        .key_heads = 2,
                                        .width = 32,
                                        .is_causal = true},
                                       TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, EveryHeadWidth) {
  for (const int64_t width : {32, 64, 96, 128}) {
    expect_attention_parity<TypeParam>({.name = "width " + std::to_string(width),
                                        .length = 70,
                                        .keys = 70,
                                        .heads = 2,
                                        .key_heads = 1,
                                        .width = width,
                                        .is_causal = true,
                                        .stride_padding = 16},
                                       TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, EncoderAttentions) {
  expect_attention_parity<TypeParam>({.name = "self-attention with short neighbours",
                                      .batch = 2,
                                      .length = 128,
                                      .keys = 128,
                                      .heads = 1,
                                      .key_heads = 1,
                                      .width = 64,
                                      .masks_keys = true},
                                     TestFixture::backend());
  expect_attention_parity<TypeParam>({.name = "a neighbour reads its chunk",
                                      .batch = 2,
                                      .length = 129,
                                      .keys = 65,
                                      .heads = 2,
                                      .key_heads = 2,
                                      .width = 32,
                                      .masks_keys = true,
                                      .stride_padding = 8},
                                     TestFixture::backend());
}

TYPED_TEST(AttentionParity, GroupedHeadsAndMasks) {
  expect_attention_parity<TypeParam>({.name = "four heads share a key head, documents, causal",
                                      .batch = 2,
                                      .length = 100,
                                      .keys = 100,
                                      .heads = 4,
                                      .key_heads = 1,
                                      .width = 32,
                                      .is_causal = true,
                                      .masks_keys = true,
                                      .has_segments = true},
                                     TestFixture::backend());
  expect_attention_parity<TypeParam>({.name = "no positions, inactive rows",
                                      .length = 65,
                                      .keys = 33,
                                      .heads = 2,
                                      .key_heads = 1,
                                      .width = 96,
                                      .has_positions = false,
                                      .masks_rows = true},
                                     TestFixture::backend());
}

TYPED_TEST(AttentionParity, DecodingSeesAllEarlierKeys) {
  expect_attention_parity<TypeParam>({.name = "two queries after 128 keys",
                                      .batch = 2,
                                      .length = 2,
                                      .keys = 130,
                                      .heads = 2,
                                      .key_heads = 2,
                                      .width = 64,
                                      .is_causal = true,
                                      .causal_offset = 128,
                                      .distance_offset = 128},
                                     TestFixture::backend());
}

AttentionCase chunked(int64_t chunk_length, int64_t retrieved_length, int64_t neighbours,
                      int64_t length) {
  return {.name = "m " + std::to_string(chunk_length) + " r " + std::to_string(retrieved_length) +
                  " k " + std::to_string(neighbours) + " n " + std::to_string(length),
          .length = length,
          .keys = neighbours * retrieved_length,
          .heads = 1,
          .key_heads = 1,
          .width = 32,
          .chunk_length = chunk_length,
          .key_period = retrieved_length};
}

TYPED_TEST(AttentionParity, ChunkLengths) {
  for (const int64_t m : {4, 63, 64, 65}) {
    expect_attention_parity<TypeParam>(chunked(m, 2 * m, 2, 2 * m + m / 2), TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, RetrievedLengths) {
  for (const int64_t r : {1, 127, 128, 129}) {
    expect_attention_parity<TypeParam>(chunked(64, r, 2, 130), TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, NumbersOfNeighbours) {
  for (const int64_t k : {0, 1, 2, 10, 40}) {
    expect_attention_parity<TypeParam>(chunked(16, 32, k, 40), TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, SequencesShorterThanAChunk) {
  for (const int64_t n : {63, 64, 65}) {
    expect_attention_parity<TypeParam>(chunked(64, 128, 1, n), TestFixture::backend());
  }
}

TYPED_TEST(AttentionParity, MissingNeighboursAndMaskedKeys) {
  AttentionCase problem = chunked(64, 128, 3, 200);
  problem.name = "chunk 0 has no neighbour, the others lack their second";
  problem.batch = 2;
  problem.heads = 2;
  problem.missing_neighbour = 1;
  problem.masks_keys = true;
  problem.masks_rows = true;
  problem.width = 64;
  problem.stride_padding = 8;
  expect_attention_parity<TypeParam>(problem, TestFixture::backend());
}

TYPED_TEST(AttentionParity, RunToRunIdentical) {
  AttentionCase problem = chunked(64, 128, 2, 129);
  problem.fill(3, round_to<TypeParam>);
  change_order(1);
  const AttentionOutputs first = TestFixture::backend().run(problem);
  change_order(2);
  const AttentionOutputs second = TestFixture::backend().run(problem);
  for (const NamedOutput& output : kAttentionOutputs) {
    EXPECT_EQ(first.*output.values, second.*output.values) << output.name;
  }
}

}  // namespace
}  // namespace retro::testing
