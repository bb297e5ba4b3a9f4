// Attention on devices that have 99 KiB of shared memory for a block (compute capability 8.6, 8.9
// and 12.0), which the simulator can pretend to be.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention_cases.h"
#include "attention_parity.h"
#include "attention_runner.h"
#include "bfloat16_values.h"
#include "simulator/global_memory.h"
#include "simulator/grid.h"

namespace retro::testing {
namespace {

constexpr size_t kSmall = size_t{99} << 10;

class SmallSharedMemory : public ::testing::Test {
 protected:
  SmallSharedMemory() { simulator::largest_shared_bytes = kSmall; }
  ~SmallSharedMemory() override {
    simulator::largest_shared_bytes = simulator::kLargestSharedBytes;
  }

  template <typename T>
  static AttentionOutputs run(const AttentionCase& problem) {
    return AttentionRunner<T, simulator::DeviceBuffer>(problem).run();
  }
  template <typename T>
  static void expect_parity(const std::vector<AttentionCase>& cases) {
    for (const AttentionCase& problem : cases) {
      expect_attention_parity<T>(problem, {"a device of 99 KiB", &SmallSharedMemory::run<T>});
    }
  }
};

/// Two neighbours of three tiles of distances each: what the large ring is for.
AttentionCase wide_chunks(int64_t width) {
  AttentionCase problem = chunked_case(64, 128, 2, 129);
  problem.name += " width " + std::to_string(width);
  problem.width = width;
  return problem;
}

TEST_F(SmallSharedMemory, EveryHeadWidth) {
  std::vector<AttentionCase> cases = head_width_cases();
  for (const int64_t width : {64, 96, 128}) cases.push_back(wide_chunks(width));
  cases.push_back(plain_case("width 128 without positions", 33, 70, 1, 1, 128));
  cases.back().has_positions = false;
  expect_parity<__nv_bfloat16>(cases);
  std::erase_if(cases, [](const AttentionCase& problem) { return problem.width == 128; });
  expect_parity<float>(cases);
}

TEST_F(SmallSharedMemory, ASmallerRingGivesTheSameBits) {
  for (const int64_t width : {64, 96}) {
    AttentionCase problem = wide_chunks(width);
    problem.fill(5, round_to<__nv_bfloat16>);
    simulator::largest_shared_bytes = kSmall;
    const AttentionOutputs small = run<__nv_bfloat16>(problem);
    simulator::largest_shared_bytes = simulator::kLargestSharedBytes;
    const AttentionOutputs large = run<__nv_bfloat16>(problem);
    for (const NamedOutput& output : kAttentionOutputs) {
      EXPECT_EQ(small.*output.values, large.*output.values) << output.name << " " << width;
    }
  }
}

TEST_F(SmallSharedMemory, WhatDoesNotFitIsRefusedInASentence) {
  AttentionCase problem = plain_case("widest head", 8, 8, 1, 1, 128);
  problem.fill(6, round_to<float>);
  try {
    run<float>(problem);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(
                                  "the backward of head width 128 in float32 needs 128000 bytes of "
                                  "shared memory, a block of this device has at most 101376"));
  }
}

}  // namespace
}  // namespace retro::testing
