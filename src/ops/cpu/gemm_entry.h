// Builds the table of one multiplier; included by the instruction sets' files.
#pragma once

#include "cpu/gemm.h"
#include "cpu/gemm_kernels.h"
#include "cpu/thin_gemm.h"

namespace retro::cpu {

template <typename M>
GemmKernels<typename M::Element> make_gemm_kernels() {
  return {.panel_columns = Gemm<M>::kPanel,
          .block_rows = Gemm<M>::kRows,
          .depth_step = M::kDepthStep,
          .right_bytes = Gemm<M>::right_bytes,
          .left_bytes = Gemm<M>::left_bytes,
          .pack_right = Gemm<M>::pack_right,
          .multiply = Gemm<M>::multiply,
          .multiply_thin = ThinGemm<M>::multiply};
}

}  // namespace retro::cpu
