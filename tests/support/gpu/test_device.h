// What the parity tests run on: here a real device (preset cuda).
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "kernels/cublas_gemm.h"

namespace retro::testing {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// An array in the device's memory. Fresh ones hold 0xcd bytes.
template <typename T>
class Buffer {
 public:
  Buffer(const std::string&, size_t count) : count_(count) {
    allocate();
    check(cudaMemset(data_, 0xcd, count * sizeof(T)));
  }
  Buffer(const std::string&, const std::vector<T>& values, bool = true) : count_(values.size()) {
    allocate();
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(result.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  void allocate() { check(cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T) + 16)); }

  size_t count_;
  T* data_ = nullptr;
};

template <typename T>
using DeviceGemm = kernels::CublasGemm<T>;

inline constexpr const char* kDeviceName = "the GPU";

/// For a block.
inline size_t largest_shared_bytes() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  return static_cast<size_t>(bytes);
}

/// The device has its own order.
inline void change_order(unsigned) {}

inline void finish_launches() { check(cudaDeviceSynchronize()); }

}  // namespace retro::testing
