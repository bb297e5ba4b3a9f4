// The instructions of sm_80 and later that C++ has no word for: matrix multiply, its loads, and
// asynchronous copies. The simulator has its own file of this name; everything that decides which
// lane holds what stands in mma.cuh, which it shares.
#pragma once

#include <cuda_bf16.h>

#include "kernels/launch.cuh"

namespace retro::kernels {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// c += a b for a 16 x 16 (row-major), b 16 x 8 (column-major), c 16 x 8, spread over the warp.
__device__ __forceinline__ void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8 x 8 matrices; lane i gives the address of row i mod 8 of matrix i / 8, 16 bytes.
__device__ __forceinline__ void load_matrices(uint32_t (&registers)[4],
                                              SharedPointer<const __nv_bfloat16> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&registers)[4],
                                                         SharedPointer<const __nv_bfloat16> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(row))
               : "memory");
}

/// Copies 16 bytes past the registers and the first-level cache. `is_present` false writes zeros
/// and reads nothing. Both sides aligned to 16 bytes.
template <typename T>
__device__ __forceinline__ void copy_16_bytes(SharedPointer<T> to, GlobalPointer<const T> from,
                                              bool is_present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(is_present ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// All but the latest `kGroupsLeft` groups of this thread have arrived. A barrier must follow
/// before other threads read.
template <int kGroupsLeft>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}

}  // namespace retro::kernels
