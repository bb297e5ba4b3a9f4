#include "rms_norm.h"

#include <ATen/ops/empty.h>

#include "kernels/rms_norm.h"
#include "launch_support.h"

namespace retro::cuda {

void rms_norm_forward(const at::Tensor& input, const at::Tensor& gain, double epsilon,
                      const at::Tensor& output, const at::Tensor& inverse_rms) {
  const LaunchScope scope(input);
  for_type_of(input, [&](auto type) {
    using T = typename decltype(type)::type;
    kernels::RmsNormForwardParams<T> params;
    params.input = read_pointer<T>(input);
    params.input_stride = params.width = gain.numel();
    params.gain = read_pointer<float>(gain);
    params.output = write_pointer<T>(output);
    params.inverse_rms = write_pointer<float>(inverse_rms);
    params.rows = inverse_rms.numel();
    params.epsilon = static_cast<float>(epsilon);
    kernels::launch_rms_norm_forward(params, scope.stream());
  });
}

void rms_norm_backward(at::TensorList forward, const at::Tensor& grad_output,
                       const at::Tensor& grad_input, const at::Tensor& grad_gain) {
  const LaunchScope scope(grad_output);
  const int64_t rows = forward[2].numel();
  const at::Tensor partial =
      at::empty({kernels::rms_norm_slices(rows), grad_gain.numel()}, grad_gain.options());
  for_type_of(grad_output, [&](auto type) {
    using T = typename decltype(type)::type;
    kernels::RmsNormBackwardParams<T> params;
    params.input = read_pointer<T>(forward[0]);
    params.input_stride = params.width = grad_gain.numel();
    params.gain = read_pointer<float>(forward[1]);
    params.inverse_rms = read_pointer<float>(forward[2]);
    params.grad_output = read_pointer<T>(grad_output);
    params.grad_input = write_pointer<T>(grad_input);
    params.grad_gain = write_pointer<float>(grad_gain);
    params.partial_gain = write_pointer<float>(partial);
    params.rows = rows;
    kernels::launch_rms_norm_backward(params, scope.stream());
  });
}

}  // namespace retro::cuda
