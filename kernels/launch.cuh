// How kernels are launched and how they reach memory.
//
// Kernels are also compiled as plain C++ and run by a simulator (tests/support/cuda), whose own
// file of this name replaces the pointers by ones that check every access. Hence three rules:
// launches go through launch(), shared memory through dynamic_shared() or static_shared(), and what
// a launcher is handed through global(). On the device all of them are plain pointers.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>

#include "kernels/stream.h"

namespace retro::kernels {

template <typename T>
using GlobalPointer = T*;
template <typename T>
using SharedPointer = T*;

template <typename T>
__device__ __forceinline__ GlobalPointer<T> global(T* pointer) {
  return pointer;
}

/// The block's dynamic shared memory from a byte on. Offsets are multiples of 16 wherever vectors
/// are used.
template <typename T>
__device__ __forceinline__ SharedPointer<T> dynamic_shared(int64_t offset_bytes = 0) {
  extern __shared__ __align__(128) unsigned char memory[];
  return reinterpret_cast<T*>(memory + offset_bytes);
}

/// A static shared array; `Tag` tells two arrays of the same type and size apart.
template <typename Tag, typename T, int kCount>
__device__ __forceinline__ SharedPointer<T> static_shared() {
  __shared__ T data[kCount];
  return data;
}

/// Reads or writes what stands at `pointer` as a V (a vector of T); aligned to sizeof(V).
template <typename V, typename T>
__device__ __forceinline__ V load_as(const T* pointer) {
  return *reinterpret_cast<const V*>(pointer);
}
template <typename V, typename T>
__device__ __forceinline__ void store_as(T* pointer, const V& value) {
  *reinterpret_cast<V*>(pointer) = value;
}

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
  }
}

/// The most shared memory that a block may have on the current device. Devices of one generation
/// differ: of sm_80 to sm_90 from 99 to 227 KiB.
inline size_t largest_shared_bytes() {
  int device = 0;
  int bytes = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<size_t>(bytes);
}

/// Starts `kernel(params)`. More than 48 KiB of dynamic shared memory are asked for as they must.
template <typename Params>
void launch(void (*kernel)(Params), dim3 grid, dim3 block, size_t shared_bytes, StreamHandle stream,
            const Params& params) {
  if (shared_bytes > (size_t{48} << 10)) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)));
  }
  kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(params);
  check_cuda(cudaGetLastError());
}

}  // namespace retro::kernels
