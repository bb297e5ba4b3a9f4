// Behind operations on a GPU in a build without CUDA. No tensor can be there, so nothing here is
// ever reached but is_built(); the linker wants a definition of each launcher.
#include <stdexcept>

#include "cuda/backend.h"
#include "kernels/adamw.h"
#include "kernels/chunked_cross_attention.h"
#include "kernels/embedding.h"
#include "kernels/linear_cross_entropy.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"

namespace retro {

namespace {

[[noreturn]] void refuse() { throw std::logic_error("built without CUDA"); }

}  // namespace

namespace cuda {

bool is_built() { return false; }
kernels::StreamHandle current_stream(c10::Device) { refuse(); }

template <typename T>
kernels::Gemm<T>& gemm() {
  refuse();
}
template kernels::Gemm<float>& gemm();
template kernels::Gemm<bfloat16>& gemm();

}  // namespace cuda

namespace kernels {

int64_t rms_norm_slices(int64_t) { refuse(); }
void launch_adamw(const AdamWParams&, StreamHandle) { refuse(); }

template <typename T>
int64_t attention_workspace_floats(const AttentionParams<T>&) {
  refuse();
}
template <typename T>
void launch_relative_attention_forward(const AttentionParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
void launch_relative_attention_backward(const AttentionBackwardParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
AttentionParams<T> arrange_chunks(const AttentionParams<T>&, const ChunkGeometry&) {
  refuse();
}
template <typename T>
void launch_chunked_cross_attention_forward(const AttentionParams<T>&, const ChunkGeometry&,
                                            StreamHandle) {
  refuse();
}
template <typename T>
void launch_chunked_cross_attention_backward(const AttentionBackwardParams<T>&,
                                             const ChunkGeometry&, StreamHandle) {
  refuse();
}
template <typename T>
void launch_embedding_forward(const EmbeddingForwardParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
void launch_embedding_backward(const EmbeddingBackwardParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<T>&,
                                              CrossEntropyTiles) {
  refuse();
}
template <typename T>
void launch_linear_cross_entropy(const LinearCrossEntropyParams<T>&, CrossEntropyTiles, Gemm<T>&,
                                 StreamHandle) {
  refuse();
}
template <typename T>
void launch_rms_norm_forward(const RmsNormForwardParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
void launch_rms_norm_backward(const RmsNormBackwardParams<T>&, StreamHandle) {
  refuse();
}
template <typename T>
void launch_rotary(const RotaryParams<T>&, StreamHandle) {
  refuse();
}

template int64_t attention_workspace_floats(const AttentionParams<float>&);
template void launch_relative_attention_forward(const AttentionParams<float>&, StreamHandle);
template void launch_relative_attention_backward(const AttentionBackwardParams<float>&,
                                                 StreamHandle);
template AttentionParams<float> arrange_chunks(const AttentionParams<float>&, const ChunkGeometry&);
template void launch_chunked_cross_attention_forward(const AttentionParams<float>&,
                                                     const ChunkGeometry&, StreamHandle);
template void launch_chunked_cross_attention_backward(const AttentionBackwardParams<float>&,
                                                      const ChunkGeometry&, StreamHandle);
template void launch_embedding_forward(const EmbeddingForwardParams<float>&, StreamHandle);
template void launch_embedding_backward(const EmbeddingBackwardParams<float>&, StreamHandle);
template int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<float>&,
                                                       CrossEntropyTiles);
template void launch_linear_cross_entropy(const LinearCrossEntropyParams<float>&, CrossEntropyTiles,
                                          Gemm<float>&, StreamHandle);
template void launch_rms_norm_forward(const RmsNormForwardParams<float>&, StreamHandle);
template void launch_rms_norm_backward(const RmsNormBackwardParams<float>&, StreamHandle);
template void launch_rotary(const RotaryParams<float>&, StreamHandle);
template int64_t attention_workspace_floats(const AttentionParams<__nv_bfloat16>&);
template void launch_relative_attention_forward(const AttentionParams<__nv_bfloat16>&,
                                                StreamHandle);
template void launch_relative_attention_backward(const AttentionBackwardParams<__nv_bfloat16>&,
                                                 StreamHandle);
template AttentionParams<__nv_bfloat16> arrange_chunks(const AttentionParams<__nv_bfloat16>&,
                                                       const ChunkGeometry&);
template void launch_chunked_cross_attention_forward(const AttentionParams<__nv_bfloat16>&,
                                                     const ChunkGeometry&, StreamHandle);
template void launch_chunked_cross_attention_backward(const AttentionBackwardParams<__nv_bfloat16>&,
                                                      const ChunkGeometry&, StreamHandle);
template void launch_embedding_forward(const EmbeddingForwardParams<__nv_bfloat16>&, StreamHandle);
template void launch_embedding_backward(const EmbeddingBackwardParams<__nv_bfloat16>&,
                                        StreamHandle);
template int64_t linear_cross_entropy_workspace_floats(
    const LinearCrossEntropyParams<__nv_bfloat16>&, CrossEntropyTiles);
template void launch_linear_cross_entropy(const LinearCrossEntropyParams<__nv_bfloat16>&,
                                          CrossEntropyTiles, Gemm<__nv_bfloat16>&, StreamHandle);
template void launch_rms_norm_forward(const RmsNormForwardParams<__nv_bfloat16>&, StreamHandle);
template void launch_rms_norm_backward(const RmsNormBackwardParams<__nv_bfloat16>&, StreamHandle);
template void launch_rotary(const RotaryParams<__nv_bfloat16>&, StreamHandle);

}  // namespace kernels

}  // namespace retro
