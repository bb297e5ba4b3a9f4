// The simulator's kernels/warp_instructions.cuh: the instructions' meaning as the PTX manual states
// it.
#pragma once

#include <cuda_bf16.h>

#include "kernels/launch.cuh"

namespace retro::kernels {

namespace emulated {

inline float low(uint32_t pair) {
  return __bfloat162float(__nv_bfloat16_raw{static_cast<unsigned short>(pair)});
}
inline float high(uint32_t pair) { return low(pair >> 16); }

struct Operands {
  uint32_t a[4];
  uint32_t b[2];
};

inline const Operands& operands_of(int lane) {
  return *static_cast<const Operands*>(simulator::published(lane));
}

/// A[row][k] of the 16 x 16 matrix that the warp holds.
inline float a_element(int row, int k) {
  const uint32_t pair = operands_of(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2];
  return k % 2 ? high(pair) : low(pair);
}

/// B[k][column] of the 16 x 8 matrix that the warp holds.
inline float b_element(int k, int column) {
  const uint32_t pair = operands_of(column * 4 + k % 8 / 2).b[k / 8];
  return k % 2 ? high(pair) : low(pair);
}

inline const simulator::CheckedPointer<const __nv_bfloat16>& row_address(int lane) {
  return *static_cast<const simulator::CheckedPointer<const __nv_bfloat16>*>(
      simulator::published(lane));
}

}  // namespace emulated

/// c += a b, mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32.
inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const emulated::Operands own{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  simulator::warp_exchange(0xffffffffu, &own, sizeof(own), "mma", 0);
  const int lane = simulator::lane_of_current_thread();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8;
    const int column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      c[i] += emulated::a_element(row, k) * emulated::b_element(k, column);
    }
  }
}

/// ldmatrix.sync.aligned.m8n8.x4.shared.b16: lane i gives the address of row i mod 8 of matrix i/8.
inline void load_matrices(uint32_t (&registers)[4], SharedPointer<const __nv_bfloat16> row) {
  simulator::warp_exchange(0xffffffffu, &row, sizeof(row), "ldmatrix", 0);
  row.check(16, simulator::AccessKind::kRead);
  const int lane = simulator::lane_of_current_thread();
  for (int matrix = 0; matrix < 4; ++matrix) {
    registers[matrix] =
        load_as<uint32_t>(emulated::row_address(matrix * 8 + lane / 4) + lane % 4 * 2);
  }
}

/// The same with .trans: each lane gets two elements of a column.
inline void load_matrices_transposed(uint32_t (&registers)[4],
                                     SharedPointer<const __nv_bfloat16> row) {
  simulator::warp_exchange(0xffffffffu, &row, sizeof(row), "ldmatrix.trans", 0);
  row.check(16, simulator::AccessKind::kRead);
  const int lane = simulator::lane_of_current_thread();
  for (int matrix = 0; matrix < 4; ++matrix) {
    const int first = matrix * 8 + lane % 4 * 2;
    const uint32_t low = (emulated::row_address(first) + lane / 4).load<__nv_bfloat16>().bits;
    const uint32_t high = (emulated::row_address(first + 1) + lane / 4).load<__nv_bfloat16>().bits;
    registers[matrix] = low | high << 16;
  }
}

/// cp.async of 16 bytes; `is_present` false writes zeros and reads nothing.
template <typename T>
void copy_16_bytes(SharedPointer<T> to, GlobalPointer<const T> from, bool is_present) {
  to.check(16, simulator::AccessKind::kCopyStart);
  if (is_present) from.check(16, simulator::AccessKind::kRead);
  simulator::add_copy([=] {
    const uint4 value = is_present ? load_as<uint4>(from) : uint4{0, 0, 0, 0};
    to.check(16, simulator::AccessKind::kCopyEnd);
    std::memcpy(static_cast<void*>(to.raw()), &value, sizeof(value));
  });
}
inline void commit_copies() { simulator::commit_copies(); }
template <int kGroupsLeft>
void wait_for_copies() {
  simulator::wait_copies(kGroupsLeft);
}

}  // namespace retro::kernels
