// Runs an attention problem on the CPU's threads.
#pragma once

#include "attention_gradients.h"
#include "cpu/attention_problem.h"

namespace retro {

/// Writes result.out and result.lse.
template <typename T>
void attention_forward_cpu(const cpu::AttentionProblem<T>& problem,
                           const cpu::AttentionResult<T>& result);

/// Writes gradients.query, .key and .value (contiguous or not) and returns the rest. The sums do
/// not depend on the number of threads.
template <typename T>
SharedAttentionGradients attention_backward_cpu(const cpu::AttentionProblem<T>& problem,
                                                cpu::AttentionGradients<T> gradients);

}  // namespace retro
