#include "kernels/relative_attention_backward_launch.cuh"

namespace retro::kernels {

template int64_t attention_workspace_floats(const AttentionParams<float>&);
template void launch_relative_attention_backward(const AttentionBackwardParams<float>&,
                                                 StreamHandle);

}  // namespace retro::kernels
