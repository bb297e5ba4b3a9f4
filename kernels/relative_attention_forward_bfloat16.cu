#include "kernels/relative_attention_forward_launch.cuh"

namespace retro::kernels {

template void launch_relative_attention_forward(const AttentionParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
