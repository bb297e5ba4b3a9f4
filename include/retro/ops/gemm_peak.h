// How fast this machine multiplies matrices: the yardstick of "share of GEMM peak".
#pragma once

#include "retro/ops/precision.h"

namespace retro {

/// Floating-point operations per second (multiply and add counted as two) of the fastest matrix
/// product this project can call at a large square shape, in `precision`, with `threads` threads.
/// Takes about a second. Restores the thread count. On a GPU `threads` means nothing.
double measure_gemm_peak(Precision precision, int threads, at::Device device = at::kCPU);

}  // namespace retro
