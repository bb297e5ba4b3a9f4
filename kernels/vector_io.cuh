// Rows are read and written 16 bytes at a time where their address and length allow it.
#pragma once

#include "kernels/dtype.cuh"
#include "kernels/launch.cuh"

namespace retro::kernels {

template <typename T>
inline constexpr int kVectorWidth = 16 / static_cast<int>(sizeof(T));

/// 16 bytes of T as floats.
template <typename T>
struct FloatVector {
  float values[kVectorWidth<T>];
};

template <typename T>
struct alignas(16) PackedVector {
  T values[kVectorWidth<T>];
};

template <typename T>
__device__ __forceinline__ FloatVector<T> load_vector(GlobalPointer<const T> pointer) {
  const auto packed = load_as<PackedVector<T>>(pointer);
  FloatVector<T> result;
#pragma unroll
  for (int i = 0; i < kVectorWidth<T>; ++i) result.values[i] = to_float(packed.values[i]);
  return result;
}

template <typename T>
__device__ __forceinline__ void store_vector(GlobalPointer<T> pointer,
                                             const FloatVector<T>& value) {
  PackedVector<T> packed;
#pragma unroll
  for (int i = 0; i < kVectorWidth<T>; ++i) packed.values[i] = from_float<T>(value.values[i]);
  store_as(pointer, packed);
}

/// Can a row of `width` elements be read in vectors, given its address and stride?
template <typename T>
inline bool is_vectorizable(const void* data, int64_t width, int64_t row_stride) {
  constexpr int64_t kWidth = kVectorWidth<T>;
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && width % kWidth == 0 &&
         row_stride % kWidth == 0;
}

}  // namespace retro::kernels
