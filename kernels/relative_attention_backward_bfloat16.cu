#include "kernels/relative_attention_backward_launch.cuh"

namespace retro::kernels {

template int64_t attention_workspace_floats(const AttentionParams<bfloat16>&);
template void launch_relative_attention_backward(const AttentionBackwardParams<bfloat16>&,
                                                 StreamHandle);

}  // namespace retro::kernels
