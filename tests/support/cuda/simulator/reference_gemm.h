// Stands in for cuBLAS in the simulator.
#pragma once

#include "kernels/dtype.cuh"
#include "kernels/gemm.h"
#include "simulator/global_memory.h"

namespace retro::simulator {

template <typename T>
class ReferenceGemm : public kernels::Gemm<T> {
 public:
  void multiply(const kernels::GemmProblem<T>& problem, kernels::StreamHandle) override {
    const kernels::GemmProblem<T>& p = problem;
    for (int64_t i = 0; i < p.rows; ++i) {
      float* const row = p.c + i * p.c_stride;
      for (int64_t j = 0; j < p.columns; ++j) {
        float sum = p.adds ? row[j] : 0.0f;
        for (int64_t k = 0; k < p.depth; ++k) {
          const T a = p.a_is_transposed ? p.a[k * p.a_stride + i] : p.a[i * p.a_stride + k];
          const T b = p.b_is_transposed ? p.b[j * p.b_stride + k] : p.b[k * p.b_stride + j];
          sum += kernels::to_float(a) * kernels::to_float(b);
        }
        row[j] = sum;
      }
      mark_written(row, static_cast<size_t>(p.columns) * sizeof(float));
    }
  }
};

}  // namespace retro::simulator
