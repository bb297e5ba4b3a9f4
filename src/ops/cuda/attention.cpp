#include "attention.h"

#include <ATen/ops/empty.h>

#include "retro/core/error.h"

#include "kernels/chunked_cross_attention.h"
#include "launch_support.h"

namespace retro::cuda {

namespace {

using kernels::AttentionView;

/// Which dimension of a tensor is what; -1: it has none.
struct Dimensions {
  int batch = -1;
  int chunk = -1;
  int row = -1;
  int head = -1;
};

constexpr Dimensions kRows{.batch = 0, .row = 1, .head = 2};                   // [B, N, H, A]
constexpr Dimensions kRowValues{.batch = 0, .row = 1};                         // [B, N]
constexpr Dimensions kDistances{.row = 0, .head = 1};                          // [X, H, A]
constexpr Dimensions kHeads{.head = 0};                                        // [H, A]
constexpr Dimensions kChunkKeys{.batch = 0, .chunk = 1, .row = 2, .head = 3};  // [B, L, T, G, A]
constexpr Dimensions kChunkKeyValues{.batch = 0, .chunk = 1, .row = 2};        // [B, L, T]

template <typename T>
AttentionView<T> view(T* data, const at::Tensor& tensor, const Dimensions& dimensions) {
  if (!tensor.defined()) return {};
  const auto stride = [&](int dimension) {
    return dimension < 0 ? int64_t{0} : tensor.stride(dimension);
  };
  return {data, stride(dimensions.batch), stride(dimensions.chunk), stride(dimensions.row),
          stride(dimensions.head)};
}

template <typename T>
AttentionView<const T> read_view(const at::Tensor& tensor, const Dimensions& dimensions) {
  return view(read_pointer<T>(tensor), tensor, dimensions);
}
template <typename T>
AttentionView<T> write_view(const at::Tensor& tensor, const Dimensions& dimensions) {
  return view(write_pointer<T>(tensor), tensor, dimensions);
}

bool is_chunked(const AttentionArrangement& arrangement) { return arrangement.chunk_length > 0; }

kernels::ChunkGeometry chunk_geometry(const AttentionTensors& tensors,
                                      const AttentionArrangement& arrangement) {
  return {tensors.query.size(1), arrangement.chunk_length, arrangement.geometry.key_period};
}

template <typename T>
kernels::AttentionParams<T> params_of(const AttentionTensors& tensors,
                                      const AttentionArrangement& arrangement,
                                      const AttentionForward& forward) {
  const Dimensions keys = is_chunked(arrangement) ? kChunkKeys : kRows;
  const AttentionGeometry& geometry = arrangement.geometry;
  kernels::AttentionParams<T> params;
  params.batches = tensors.query.size(0);
  params.rows = params.last_rows = tensors.query.size(1);
  params.keys = tensors.key.size(-3);
  params.heads = tensors.query.size(2);
  params.key_heads = tensors.key.size(-2);
  params.width = tensors.query.size(3);
  params.distances = tensors.relative.defined() ? tensors.relative.size(0) : 0;
  params.query = read_view<T>(tensors.query, kRows);
  params.key = read_view<T>(tensors.key, keys);
  params.value = read_view<T>(tensors.value, keys);
  params.relative = read_view<T>(tensors.relative, kDistances);
  params.content_bias = read_view<float>(tensors.content_bias, kHeads);
  params.position_bias = read_view<float>(tensors.position_bias, kHeads);
  params.key_is_real =
      read_view<bool>(tensors.key_is_real, is_chunked(arrangement) ? kChunkKeyValues : kRowValues);
  params.row_is_active = read_view<bool>(tensors.row_is_active, kRowValues);
  params.query_segment = read_view<int64_t>(tensors.query_segment, kRowValues);
  params.key_segment = read_view<int64_t>(tensors.key_segment, kRowValues);
  params.is_causal = geometry.is_causal;
  params.causal_offset = geometry.causal_offset;
  params.distance_offset = geometry.distance_offset;
  params.key_period = geometry.key_period;
  params.first_distance = geometry.first_distance;
  params.out = write_view<T>(forward.out, kRows);
  params.lse = write_pointer<float>(forward.lse);
  return params;
}

void check_width(const at::Tensor& query) {
  const int64_t width = query.size(3);
  RETRO_CHECK(width == 32 || width == 64 || width == 96 || width == 128,
              "attention: a head width of {} has no CUDA kernel: take 32, 64, 96 or 128, or "
              "device cpu",
              width);
}

template <typename T>
void run_backward(const AttentionTensors& tensors, const AttentionArrangement& arrangement,
                  const AttentionForward& forward, const at::Tensor& grad_out,
                  const AttentionGradientTensors& gradients) {
  const Dimensions keys = is_chunked(arrangement) ? kChunkKeys : kRows;
  const LaunchScope scope(tensors.query);
  kernels::AttentionBackwardParams<T> params;
  params.forward = params_of<T>(tensors, arrangement, forward);
  params.grad_out = read_view<T>(grad_out, kRows);
  params.grad_query = write_view<T>(gradients.query, kRows);
  params.grad_key = write_view<T>(gradients.key, keys);
  params.grad_value = write_view<T>(gradients.value, keys);
  params.grad_relative = write_pointer<T>(gradients.shared.relative_XHA);
  params.grad_content_bias = write_pointer<float>(gradients.shared.content_bias_HA);
  params.grad_position_bias = write_pointer<float>(gradients.shared.position_bias_HA);
  const kernels::ChunkGeometry chunks = chunk_geometry(tensors, arrangement);
  const auto arranged =
      is_chunked(arrangement) ? kernels::arrange_chunks(params.forward, chunks) : params.forward;
  const at::Tensor workspace = at::empty({kernels::attention_workspace_floats(arranged)},
                                         tensors.query.options().dtype(at::kFloat));
  params.workspace = write_pointer<float>(workspace);
  if (is_chunked(arrangement)) {
    kernels::launch_chunked_cross_attention_backward(params, chunks, scope.stream());
  } else {
    kernels::launch_relative_attention_backward(params, scope.stream());
  }
}

}  // namespace

AttentionForward attention_forward(const AttentionTensors& tensors,
                                   const AttentionArrangement& arrangement) {
  check_width(tensors.query);
  const at::Tensor& query = tensors.query;
  const int64_t rows = is_chunked(arrangement) ? arrangement.chunk_length : query.size(1);
  const int64_t chunks = is_chunked(arrangement) ? query.size(1) / rows : 1;
  const AttentionForward forward{
      at::empty(query.sizes(), query.options()),
      at::empty({query.size(0), chunks, query.size(2), rows}, query.options().dtype(at::kFloat))};
  for_type_of(query, [&](auto type) {
    using T = typename decltype(type)::type;
    const LaunchScope scope(query);
    const kernels::AttentionParams<T> params = params_of<T>(tensors, arrangement, forward);
    if (is_chunked(arrangement)) {
      kernels::launch_chunked_cross_attention_forward(params, chunk_geometry(tensors, arrangement),
                                                      scope.stream());
    } else {
      kernels::launch_relative_attention_forward(params, scope.stream());
    }
  });
  return forward;
}

AttentionGradientTensors attention_backward(const AttentionTensors& tensors,
                                            const AttentionArrangement& arrangement,
                                            const AttentionForward& forward,
                                            const at::Tensor& grad_out_any) {
  const at::Tensor grad_out = with_aligned_rows(grad_out_any.to(tensors.query.scalar_type()));
  const auto options = tensors.query.options();
  const at::IntArrayRef heads = tensors.query.sizes().slice(2);
  AttentionGradientTensors gradients;
  gradients.query = at::empty(tensors.query.sizes(), options);
  gradients.key = at::empty(tensors.key.sizes(), options);
  gradients.value = at::empty(tensors.value.sizes(), options);
  gradients.shared.content_bias_HA = at::empty(heads, options.dtype(at::kFloat));
  gradients.shared.position_bias_HA = at::empty(heads, options.dtype(at::kFloat));
  if (tensors.relative.defined()) {
    gradients.shared.relative_XHA = at::empty(tensors.relative.sizes(), options);
  }
  for_type_of(tensors.query, [&](auto type) {
    run_backward<typename decltype(type)::type>(tensors, arrangement, forward, grad_out, gradients);
  });
  return gradients;
}

at::Tensor with_aligned_rows(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  constexpr int64_t kBytes = 16;
  const auto element = static_cast<int64_t>(tensor.element_size());
  bool is_aligned = reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kBytes == 0 &&
                    (tensor.size(-1) <= 1 || tensor.stride(-1) == 1);
  for (int64_t dimension = 0; dimension + 1 < tensor.dim(); ++dimension) {
    is_aligned = is_aligned && tensor.stride(dimension) * element % kBytes == 0;
  }
  return is_aligned ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

}  // namespace retro::cuda
