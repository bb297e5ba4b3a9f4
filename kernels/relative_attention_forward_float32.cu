#include "kernels/relative_attention_forward_launch.cuh"

namespace retro::kernels {

template void launch_relative_attention_forward(const AttentionParams<float>&, StreamHandle);

}  // namespace retro::kernels
