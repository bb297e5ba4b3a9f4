#include "feed_forward_cpu.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "cpu/kernels.h"
#include "gemm_cpu.h"
#include "scratch.h"

namespace retro {

namespace {

/// Inner activations of a block: 4 MB in float32, which stays in the third-level cache, while the
/// weights are packed seldom enough.
constexpr int64_t kBlockElements = int64_t{1} << 20;
constexpr int64_t kActivationGrain = 16384;

int64_t block_tokens(int64_t inner) {
  return std::clamp<int64_t>(kBlockElements / inner, 64, 2048);
}

template <typename T>
T* scratch(ScratchSlot slot, int64_t count) {
  return static_cast<T*>(thread_scratch(slot, static_cast<size_t>(count) * sizeof(T)));
}

/// One block's products; row-major matrices, `out` of `columns` columns.
template <typename T>
struct Products {
  const FeedForwardShape<T>& shape;
  int64_t tokens;

  /// out [tokens, rows of weight] = left x weight^T.
  void forward(const T* left, const T* weight, int64_t in, int64_t out_width, T* out,
               const T* addend = nullptr) const {
    gemm_cpu(cpu::GemmProblem<T>{.rows = tokens,
                                 .columns = out_width,
                                 .depth = in,
                                 .left = {left, in, 1},
                                 .right = {weight, 1, in},
                                 .out = out,
                                 .out_stride = out_width,
                                 .addend = addend,
                                 .addend_stride = out_width},
             shape.precision);
  }

  /// out [tokens, in] = grad [tokens, out_width] x weight [out_width, in].
  void input_gradient(const T* grad, const T* weight, int64_t in, int64_t out_width, T* out) const {
    gemm_cpu(cpu::GemmProblem<T>{.rows = tokens,
                                 .columns = in,
                                 .depth = out_width,
                                 .left = {grad, out_width, 1},
                                 .right = {weight, in, 1},
                                 .out = out,
                                 .out_stride = in},
             shape.precision);
  }

  /// out [out_width, in] += grad^T x input.
  void weight_gradient(const T* grad, const T* input, int64_t in, int64_t out_width, T* out) const {
    gemm_cpu(cpu::GemmProblem<T>{.rows = out_width,
                                 .columns = in,
                                 .depth = tokens,
                                 .left = {grad, 1, out_width},
                                 .right = {input, in, 1},
                                 .out = out,
                                 .out_stride = in,
                                 .addend = out,
                                 .addend_stride = in},
             shape.precision);
  }
};

}  // namespace

template <typename T>
void feed_forward_forward_cpu(const FeedForwardShape<T>& shape,
                              const FeedForwardOutputs<T>& outputs) {
  const int64_t block = block_tokens(shape.inner);
  const int64_t scratch_tokens = std::min(block, shape.tokens);
  T* activated = scratch<T>(ScratchSlot::kActivations, scratch_tokens * shape.inner);
  for (int64_t begin = 0; begin < shape.tokens; begin += block) {
    const Products<T> products{shape, std::min(block, shape.tokens - begin)};
    const int64_t count = products.tokens * shape.inner;
    T* inner = outputs.inner == nullptr ? activated : outputs.inner + begin * shape.inner;
    products.forward(shape.input + begin * shape.width, shape.up, shape.width, shape.inner, inner);
    at::parallel_for(0, count, kActivationGrain, [&](int64_t first, int64_t last) {
      cpu::elementwise_kernels<T>().gelu_forward(inner + first, activated + first, last - first);
    });
    const int64_t row = begin * shape.width;
    products.forward(activated, shape.down, shape.inner, shape.width, outputs.output + row,
                     outputs.residual == nullptr ? nullptr : outputs.residual + row);
  }
}

template <typename T>
void feed_forward_backward_cpu(const FeedForwardShape<T>& shape,
                               const FeedForwardGradients<T>& gradients) {
  const int64_t block = block_tokens(shape.inner);
  const int64_t scratch_size = std::min(block, shape.tokens) * shape.inner;
  T* activated = scratch<T>(ScratchSlot::kActivations, scratch_size);
  T* slope = scratch<T>(ScratchSlot::kActivationGradients, scratch_size);
  for (int64_t begin = 0; begin < shape.tokens; begin += block) {
    const Products<T> products{shape, std::min(block, shape.tokens - begin)};
    const T* grad_output = gradients.grad_output + begin * shape.width;
    const T* inner = gradients.inner + begin * shape.inner;
    products.input_gradient(grad_output, shape.down, shape.inner, shape.width, slope);
    at::parallel_for(0, products.tokens * shape.inner, kActivationGrain,
                     [&](int64_t first, int64_t last) {
                       cpu::elementwise_kernels<T>().gelu_both(inner + first, slope + first,
                                                               activated + first, last - first);
                     });
    if (gradients.grad_down != nullptr) {
      products.weight_gradient(grad_output, activated, shape.inner, shape.width,
                               gradients.grad_down);
    }
    if (gradients.grad_up != nullptr) {
      products.weight_gradient(slope, shape.input + begin * shape.width, shape.width, shape.inner,
                               gradients.grad_up);
    }
    if (gradients.grad_input != nullptr) {
      products.input_gradient(slope, shape.up, shape.width, shape.inner,
                              gradients.grad_input + begin * shape.width);
    }
  }
}

template void feed_forward_forward_cpu<float>(const FeedForwardShape<float>&,
                                              const FeedForwardOutputs<float>&);
template void feed_forward_forward_cpu<double>(const FeedForwardShape<double>&,
                                               const FeedForwardOutputs<double>&);
template void feed_forward_backward_cpu<float>(const FeedForwardShape<float>&,
                                               const FeedForwardGradients<float>&);
template void feed_forward_backward_cpu<double>(const FeedForwardShape<double>&,
                                                const FeedForwardGradients<double>&);

}  // namespace retro
