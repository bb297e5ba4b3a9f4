// Matrix products on the CPU's threads.
#pragma once

#include "retro/ops/precision.h"

#include "cpu/gemm_problem.h"

namespace retro {

/// Runs a product in `precision` (float64 ignores it). Each element is one sum in a fixed order: it
/// depends neither on the thread count nor on the other rows. bfloat16 where the CPU has tile
/// registers (AMX), or no bfloat16 dot products at all, goes to ATen, which also rounds the product
/// to bfloat16.
void gemm_cpu(const cpu::GemmProblem<float>& problem, Precision precision);
void gemm_cpu(const cpu::GemmProblem<double>& problem, Precision precision);

}  // namespace retro
