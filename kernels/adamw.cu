#include "kernels/adamw.h"
#include "kernels/dtype.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;

/// Purely limited by memory: 28 bytes an element (30 with the copy), each touched once.
__global__ void __launch_bounds__(kThreads) adamw(AdamWParams params) {
  const auto piece = load_as<AdamWPiece>(global(params.pieces) + blockIdx.x);
  const auto tensor = load_as<AdamWTensor>(global(params.tensors) + piece.tensor);
  const float scale = params.gradient_scale != nullptr ? global(params.gradient_scale)[0] : 1.0f;
  const GlobalPointer<float> parameter = global(tensor.parameter);
  const GlobalPointer<const float> gradient = global(tensor.gradient);
  const GlobalPointer<float> exp_avg = global(tensor.exp_avg);
  const GlobalPointer<float> exp_avg_sq = global(tensor.exp_avg_sq);
  const GlobalPointer<uint16_t> copy = global(tensor.bfloat16_copy);
  const int64_t end = min(piece.first + kAdamWPieceElements, tensor.size);
  for (int64_t i = piece.first + threadIdx.x; i < end; i += kThreads) {
    const float g = gradient[i] * scale;
    const float first = params.beta1 * exp_avg[i] + (1.0f - params.beta1) * g;
    const float second = params.beta2 * exp_avg_sq[i] + (1.0f - params.beta2) * g * g;
    exp_avg[i] = first;
    exp_avg_sq[i] = second;
    const float root = sqrtf(second) * params.root_scale + params.epsilon;
    const float updated = parameter[i] * tensor.decay - params.step_size * first / root;
    parameter[i] = updated;
    if (tensor.bfloat16_copy != nullptr) {
      copy[i] = static_cast<uint16_t>(pack_pair(updated, 0.0f) & 0xffffu);
    }
  }
}

}  // namespace

void launch_adamw(const AdamWParams& params, StreamHandle stream) {
  if (params.num_pieces == 0) return;
  launch(&adamw, dim3(static_cast<unsigned>(params.num_pieces)), dim3(kThreads), 0, stream, params);
}

}  // namespace retro::kernels
