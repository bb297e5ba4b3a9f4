// The simulator must see what a device would only show now and then. Each test plants one fault.
#include <set>
#include <string>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/launch.cuh"
#include "kernels/warp_instructions.cuh"
#include "simulator/error.h"

namespace retro::kernels {
namespace {

using simulator::DeviceBuffer;

struct Params {
  const float* input = nullptr;
  float* output = nullptr;
  int count = 0;
};

template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const simulator::SimulatorError& error) {
    return error.what();
  }
  return "";
}

/// Runs the kernel on 128 inputs under a number of orders; the first complaint.
std::string complaint(void (*kernel)(Params), int blocks = 2, int threads = 64) {
  DeviceBuffer<float> input("input", std::vector<float>(128, 1.0f));
  DeviceBuffer<float> output("output", 128);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    simulator::set_seed(seed);
    const std::string error = error_of([&] {
      launch(kernel, dim3(blocks), dim3(threads), 1024, nullptr,
             Params{input.data(), output.data(), 128});
    });
    if (!error.empty()) return error;
  }
  return "";
}

__global__ void reverse(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  const int64_t first = blockIdx.x * blockDim.x;
  shared[t] = global(params.input)[first + t] + static_cast<float>(t);
  __syncthreads();
  global(params.output)[first + t] = shared[static_cast<int>(blockDim.x) - 1 - t];
}

TEST(Simulator, RunsEveryThreadOfEveryBlock) {
  DeviceBuffer<float> input("input", std::vector<float>(128, 0.0f));
  DeviceBuffer<float> output("output", 128);
  launch(&reverse, dim3(2), dim3(64), 256, nullptr, Params{input.data(), output.data(), 128});
  for (int i = 0; i < 128; ++i) EXPECT_EQ(output.values()[i], static_cast<float>(63 - i % 64));
}

__global__ void reverse_without_barrier(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = 1.0f;
  global(params.output)[blockIdx.x * blockDim.x + t] = shared[static_cast<int>(blockDim.x) - 1 - t];
}

TEST(Simulator, SeesAMissingBarrier) {
  const std::string error = complaint(&reverse_without_barrier);
  EXPECT_TRUE(error.find("race") != std::string::npos ||
              error.find("uninitialised") != std::string::npos)
      << error;
}

/// Every thread of a warp writes before any reads in program order, so that luck hides the fault.
__global__ void exchange_without_syncwarp(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = 1.0f;
  const float sum = __shfl_xor_sync(0xffffffffu, 1.0f, 1);  // orders lanes, but no memory
  global(params.output)[blockIdx.x * blockDim.x + t] = shared[t ^ 1] + sum;
}

__global__ void exchange_with_syncwarp(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = 1.0f;
  __syncwarp();
  global(params.output)[blockIdx.x * blockDim.x + t] = shared[t ^ 1];
}

TEST(Simulator, ShufflesOrderNoMemory) {
  EXPECT_THAT(complaint(&exchange_without_syncwarp), ::testing::HasSubstr("race"));
  EXPECT_EQ(complaint(&exchange_with_syncwarp), "");
}

__global__ void overwrite_what_others_read(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = 1.0f;
  __syncthreads();
  const float value = shared[(t + 33) % 64];
  shared[t] = value;  // another thread may still read it
  global(params.output)[blockIdx.x * blockDim.x + t] = value;
}

TEST(Simulator, SeesARaceOfReadAndWrite) {
  EXPECT_THAT(complaint(&overwrite_what_others_read), ::testing::HasSubstr("race"));
}

__global__ void sum_blocks(Params params) { global(params.output)[threadIdx.x] = 1.0f; }

TEST(Simulator, SeesARaceOfBlocks) {
  EXPECT_THAT(complaint(&sum_blocks), ::testing::HasSubstr("of another block"));
  EXPECT_EQ(complaint(&sum_blocks, 1), "");
}

__global__ void add_atomically(Params params) {
  if (threadIdx.x == 0 && blockIdx.x == 0) return;
  atomicAdd(global(params.output), 1.0f);
}

TEST(Simulator, AtomicsDoNotRace) {
  DeviceBuffer<float> output("output", std::vector<float>{0.0f}, false);
  launch(&add_atomically, dim3(3), dim3(64), 0, nullptr, Params{nullptr, output.data(), 1});
  EXPECT_EQ(output.values()[0], 191.0f);
}

__global__ void read_past_the_end(Params params) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  global(params.output)[i] = global(params.input)[i + 1];
}

__global__ void write_before_the_begin(Params params) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  global(params.output)[i - 1] = 0.0f;
}

__global__ void write_to_the_input(Params params) {
  global(const_cast<float*>(params.input))[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;
}

TEST(Simulator, ChecksBounds) {
  EXPECT_THAT(complaint(&read_past_the_end),
              ::testing::HasSubstr("out-of-bounds access of 4 bytes at byte 512 of input"));
  EXPECT_THAT(complaint(&write_before_the_begin),
              ::testing::HasSubstr("out-of-bounds access of 4 bytes at byte -4 of output"));
  EXPECT_THAT(complaint(&write_to_the_input), ::testing::HasSubstr("write to read-only"));
  float unknown = 0.0f;
  EXPECT_THAT(error_of([&] {
                launch(&sum_blocks, dim3(1), dim3(1), 0, nullptr, Params{nullptr, &unknown, 1});
              }),
              ::testing::HasSubstr("no buffer"));
}

__global__ void read_shared_memory_past_its_end(Params params) {
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] = dynamic_shared<float>()[256];
}

__global__ void read_uninitialised(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  if (threadIdx.x != 5) shared[static_cast<int>(threadIdx.x)] = 1.0f;
  __syncthreads();
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] =
      shared[static_cast<int>(threadIdx.x)];
}

__global__ void read_uninitialised_static(Params params) {
  struct Tag;
  const SharedPointer<float> shared = static_shared<Tag, float, 64>();
  // Only the first block to run would find something if memory outlived blocks.
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] =
      shared[static_cast<int>(threadIdx.x)];
  shared[static_cast<int>(threadIdx.x)] = 1.0f;
}

__global__ void read_uninitialised_output(Params params) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  global(params.output)[i] += 1.0f;
}

TEST(Simulator, SeesUninitialisedReads) {
  EXPECT_THAT(complaint(&read_shared_memory_past_its_end), ::testing::HasSubstr("out-of-bounds"));
  EXPECT_THAT(complaint(&read_uninitialised),
              ::testing::HasSubstr("uninitialised access of 2 bytes at byte 20 of dynamic shared"));
  EXPECT_THAT(complaint(&read_uninitialised_static),
              ::testing::HasSubstr("uninitialised access of 2 bytes"));
  EXPECT_THAT(complaint(&read_uninitialised_output), ::testing::HasSubstr("uninitialised"));
}

__global__ void leave_before_a_barrier(Params params) {
  if (threadIdx.x == 40) return;
  __syncthreads();
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;
}

__global__ void wait_at_different_barriers(Params) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void shuffle_in_a_branch(Params params) {
  float value = 1.0f;
  if (threadIdx.x % 2 == 0) value += __shfl_xor_sync(0xffffffffu, value, 2);
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

TEST(Simulator, SeesDivergentBarriers) {
  EXPECT_THAT(complaint(&leave_before_a_barrier),
              ::testing::AllOf(::testing::HasSubstr("divergent barrier"),
                               ::testing::HasSubstr("thread 40, which returned")));
  EXPECT_THAT(complaint(&wait_at_different_barriers), ::testing::HasSubstr("divergent barrier"));
  EXPECT_THAT(complaint(&shuffle_in_a_branch), ::testing::HasSubstr("divergent warp"));
}

template <bool kWaits>
__global__ void copy_tile(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  const int64_t first = blockIdx.x * blockDim.x;
  if (t < 16) {
    copy_16_bytes<float>(shared + t * 4, global(params.input) + first + t * 4, t != 3);
  }
  commit_copies();
  if (kWaits) wait_for_copies<0>();
  __syncthreads();
  global(params.output)[first + t] = shared[t];
}

TEST(Simulator, AsynchronousCopiesArriveWhenWaitedFor) {
  EXPECT_THAT(complaint(&copy_tile<false>), ::testing::HasSubstr("not waited for"));
  DeviceBuffer<float> input("input", std::vector<float>(64, 2.0f));
  DeviceBuffer<float> output("output", 64);
  launch(&copy_tile<true>, dim3(1), dim3(64), 256, nullptr,
         Params{input.data(), output.data(), 64});
  EXPECT_EQ(output.values()[11], 2.0f);
  EXPECT_EQ(output.values()[12], 0.0f);
  EXPECT_EQ(output.values()[15], 0.0f);
  EXPECT_EQ(output.values()[16], 2.0f);
}

template <bool kWaits>
__global__ void copy_twice(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 2; ++round) {
    if (t % 4 == 0) copy_16_bytes<float>(shared + t, global(params.input) + t, true);
    commit_copies();
    if (kWaits) wait_for_copies<0>();
    __syncthreads();  // orders threads, but ends no copy
  }
  wait_for_copies<0>();
  __syncthreads();
  global(params.output)[blockIdx.x * blockDim.x + t] = shared[t];
}

TEST(Simulator, SeesACopyOverAnUnfinishedOne) {
  EXPECT_THAT(complaint(&copy_twice<false>), ::testing::HasSubstr("not waited for"));
  EXPECT_EQ(complaint(&copy_twice<true>), "");
}

__global__ void copy_over_what_others_read(Params params) {
  const SharedPointer<float> shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  const int64_t first = blockIdx.x * blockDim.x;
  for (int round = 0; round < 2; ++round) {
    if (t < 16) copy_16_bytes<float>(shared + t * 4, global(params.input) + first + t * 4, true);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    const float value = shared[t];
    if (round == 1) global(params.output)[first + t] = value;
  }
}

TEST(Simulator, AsynchronousCopiesRaceFromTheirStart) {
  EXPECT_THAT(complaint(&copy_over_what_others_read), ::testing::HasSubstr("race"));
}

__global__ void ask_for_memory(Params) {}

TEST(Simulator, RefusesMoreSharedMemoryThanItsDeviceHas) {
  const auto start = [](size_t bytes) {
    return error_of([&] { launch(&ask_for_memory, dim3(1), dim3(32), bytes, nullptr, Params{}); });
  };
  EXPECT_EQ(start(largest_shared_bytes()), "");
  EXPECT_THAT(start(largest_shared_bytes() + 1), ::testing::HasSubstr("shared memory"));
}

__global__ void record_order(Params params) {
  const float turn = atomicAdd(global(params.output) + 128, 1.0f);
  global(params.output)[blockIdx.x * blockDim.x + threadIdx.x] = turn;
}

std::vector<float> order_of(uint64_t seed) {
  DeviceBuffer<float> output("output", std::vector<float>(129, 0.0f), false);
  simulator::set_seed(seed);
  launch(&record_order, dim3(2), dim3(64), 0, nullptr, Params{nullptr, output.data(), 128});
  return output.values();
}

TEST(Simulator, OrderFollowsTheSeed) {
  EXPECT_EQ(order_of(3), order_of(3));
  std::set<std::vector<float>> orders;
  for (uint64_t seed = 0; seed < 10; ++seed) orders.insert(order_of(seed));
  EXPECT_EQ(orders.size(), 10u);
}

__global__ void vote(Params params) {
  const int t = static_cast<int>(threadIdx.x);
  const bool odd = t % 2 == 1;
  float value = static_cast<float>(__ballot_sync(0xffffffffu, odd) & 0xffu);
  value += __any_sync(0xffffffffu, t % 32 == 7) ? 1000.0f : 0.0f;
  value += __all_sync(0xffffffffu, odd) ? 10000.0f : 0.0f;
  value += __shfl_sync(0xffffffffu, static_cast<float>(t % 32), 3) * 2000.0f;
  global(params.output)[t] = value + (__syncthreads_or(t == 63) ? 0.5f : 0.0f);
}

TEST(Simulator, VotesAndShuffles) {
  DeviceBuffer<float> output("output", 64);
  launch(&vote, dim3(1), dim3(64), 0, nullptr, Params{nullptr, output.data(), 64});
  for (const float value : output.values()) EXPECT_EQ(value, 170.0f + 1000.0f + 6000.0f + 0.5f);
}

TEST(Simulator, RoundsAsTheDevice) {
  // 1 + 2^-8 lies half-way between two bfloat16: to even. A little more goes up.
  EXPECT_EQ(__bfloat162float(__float2bfloat16_rn(1.00390625f)), 1.0f);
  EXPECT_EQ(__bfloat162float(__float2bfloat16_rn(1.00390637f)), 1.0078125f);
  EXPECT_EQ(__bfloat162float(__float2bfloat16_rn(1.01171875f)), 1.015625f);
  EXPECT_EQ(__float2bfloat16_rn(3.4e38f).bits, 0x7f80);
  EXPECT_EQ(__float2bfloat16_rn(std::nanf("")).bits, 0x7fff);
  EXPECT_EQ(__half2float(__float2half_rn(2049.0f)), 2048.0f);
  EXPECT_EQ(__half2float(__float2half_rn(2051.0f)), 2052.0f);
  EXPECT_EQ(__float2half_rn(65520.0f).bits, 0x7c00);
  EXPECT_EQ(__half2float(__float2half_rn(5.9604645e-8f)), 5.9604645e-8f);
}

}  // namespace
}  // namespace retro::kernels
