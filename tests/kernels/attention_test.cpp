// Relative attention and chunked cross-attention: kernels on the test's device against the oracle.
#include <gtest/gtest.h>

#include "attention_cases.h"
#include "attention_parity.h"
#include "attention_runner.h"
#include "bfloat16_values.h"
#include "test_device.h"

namespace retro::testing {
namespace {

template <typename T>
class AttentionParity : public ::testing::Test {
 public:
  static AttentionOutputs run(const AttentionCase& problem) {
    return AttentionRunner<T, Buffer>(problem).run();
  }
  static void expect_parity(const std::vector<AttentionCase>& cases) {
    for (const AttentionCase& problem : cases) {
      expect_attention_parity<T>(problem, {kDeviceName, run});
    }
  }
};
using ElementTypes = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(AttentionParity, ElementTypes);

TYPED_TEST(AttentionParity, SelfAttention) { this->expect_parity(self_attention_cases()); }
TYPED_TEST(AttentionParity, EveryHeadWidth) {
  std::vector<AttentionCase> cases = head_width_cases();
  // The widest head's backward in float32 is refused by devices with less (docs/gpu.md).
  constexpr size_t kNeeded = 128000;
  if (sizeof(TypeParam) == 4 && largest_shared_bytes() < kNeeded) cases.pop_back();
  this->expect_parity(cases);
}
TYPED_TEST(AttentionParity, EncoderAttentions) { this->expect_parity(encoder_cases()); }
TYPED_TEST(AttentionParity, GroupedHeadsAndMasks) { this->expect_parity(mask_cases()); }
TYPED_TEST(AttentionParity, ChunkLengths) { this->expect_parity(chunk_length_cases()); }
TYPED_TEST(AttentionParity, RetrievedLengths) { this->expect_parity(retrieved_length_cases()); }
TYPED_TEST(AttentionParity, NumbersOfNeighbours) { this->expect_parity(neighbour_cases()); }
TYPED_TEST(AttentionParity, MissingNeighbours) { this->expect_parity(missing_neighbour_cases()); }

TYPED_TEST(AttentionParity, RunToRunIdentical) {
  AttentionCase problem = chunked_case(64, 128, 2, 129);
  problem.fill(3, round_to<TypeParam>);
  change_order(1);
  const AttentionOutputs first = TestFixture::run(problem);
  change_order(2);
  const AttentionOutputs second = TestFixture::run(problem);
  for (const NamedOutput& output : kAttentionOutputs) {
    EXPECT_EQ(first.*output.values, second.*output.values) << output.name;
  }
}

}  // namespace
}  // namespace retro::testing
