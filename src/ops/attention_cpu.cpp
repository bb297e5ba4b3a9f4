#include "attention_cpu.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include "cpu/kernels.h"
#include "scratch.h"

namespace retro {

namespace {

/// Enough slices to keep many threads busy, few enough that their partial sums stay small; it
/// depends on the shape alone.
template <typename T>
int64_t count_slices(const cpu::AttentionProblem<T>& problem) {
  constexpr int64_t kWantedUnits = 64;
  const int64_t wanted = (kWantedUnits + problem.key_heads - 1) / problem.key_heads;
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(problem.items(), 1));
}

template <typename T>
T* scratch_of(int64_t elements) {
  return static_cast<T*>(
      thread_scratch(ScratchSlot::kKernel, static_cast<size_t>(elements) * sizeof(T)));
}

}  // namespace

template <typename T>
void attention_forward_cpu(const cpu::AttentionProblem<T>& problem,
                           const cpu::AttentionResult<T>& result) {
  const auto& kernels = cpu::attention_kernels<T>();
  const int64_t scratch = kernels.forward_scratch(problem);
  at::parallel_for(0, kernels.forward_units(problem), 1, [&](int64_t begin, int64_t end) {
    kernels.forward(problem, result, begin, end, scratch_of<T>(scratch));
  });
}

template <typename T>
SharedAttentionGradients attention_backward_cpu(const cpu::AttentionProblem<T>& problem,
                                                cpu::AttentionGradients<T> gradients) {
  const auto& kernels = cpu::attention_kernels<T>();
  const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
  gradients.slices = count_slices(problem);
  const at::Tensor bias = at::empty({2, gradients.slices, problem.heads, problem.width}, options);
  gradients.content_bias = bias[0].template data_ptr<T>();
  gradients.position_bias = bias[1].template data_ptr<T>();
  at::Tensor relative;
  if (problem.relative) {
    relative =
        at::empty({gradients.slices, problem.heads, problem.distances, problem.width}, options);
    gradients.relative = relative.template data_ptr<T>();
  }
  const int64_t scratch = kernels.backward_scratch(problem);
  at::parallel_for(0, gradients.slices * problem.key_heads, 1, [&](int64_t begin, int64_t end) {
    kernels.backward(problem, gradients, begin, end, scratch_of<T>(scratch));
  });
  SharedAttentionGradients shared;
  if (problem.relative) shared.relative_XHA = relative.sum(0).transpose(0, 1);
  const at::Tensor bias_sum = bias.sum(1);
  shared.content_bias_HA = bias_sum[0];
  shared.position_bias_HA = bias_sum[1];
  return shared;
}

template void attention_forward_cpu<float>(const cpu::AttentionProblem<float>&,
                                           const cpu::AttentionResult<float>&);
template void attention_forward_cpu<double>(const cpu::AttentionProblem<double>&,
                                            const cpu::AttentionResult<double>&);
template SharedAttentionGradients attention_backward_cpu<float>(const cpu::AttentionProblem<float>&,
                                                                cpu::AttentionGradients<float>);
template SharedAttentionGradients attention_backward_cpu<double>(
    const cpu::AttentionProblem<double>&, cpu::AttentionGradients<double>);

}  // namespace retro
