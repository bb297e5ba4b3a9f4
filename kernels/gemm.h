// The matrix product that stands beside a kernel. cuBLAS on a device; a plain loop in the
// simulator.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// c [rows, columns] = op(a) op(b) + (adds ? c : 0), all row-major, c in float32. op(a) is [rows,
/// depth] (stored [depth, rows] where a_is_transposed), op(b) [depth, columns] (stored [columns,
/// depth] where b_is_transposed). Strides in elements.
template <typename T>
struct GemmProblem {
  const T* a = nullptr;
  int64_t a_stride = 0;
  bool a_is_transposed = false;
  const T* b = nullptr;
  int64_t b_stride = 0;
  bool b_is_transposed = false;
  float* c = nullptr;
  int64_t c_stride = 0;
  bool adds = false;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
};

/// Products with float32 accumulation (no TF32).
template <typename T>
class Gemm {
 public:
  Gemm() = default;
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  virtual ~Gemm() = default;
  virtual void multiply(const GemmProblem<T>& problem, StreamHandle stream) = 0;
};

}  // namespace retro::kernels
