#include "rotary.h"

#include <ATen/ops/empty_like.h>

#include "kernels/rotary.h"
#include "launch_support.h"

namespace retro::cuda {

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos_NF, const at::Tensor& sin_NF,
                   int direction) {
  const at::Tensor out = at::empty_like(x);
  const LaunchScope scope(x);
  for_type_of(x, [&](auto type) {
    using T = typename decltype(type)::type;
    kernels::RotaryParams<T> params;
    params.input = read_pointer<T>(x);
    params.output = write_pointer<T>(out);
    params.cosines = read_pointer<float>(cos_NF);
    params.sines = read_pointer<float>(sin_NF);
    params.rows = x.size(-3);
    params.heads = x.size(-2);
    params.width = x.size(-1);
    params.batch = x.numel() / (params.rows * params.heads * params.width);
    params.is_inverse = direction < 0;
    kernels::launch_rotary(params, scope.stream());
  });
  return out;
}

}  // namespace retro::cuda
