#include "embedding.h"

#include <optional>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/unique_consecutive.h>
#include <ATen/ops/zeros.h>

#include "kernels/embedding.h"
#include "launch_support.h"

namespace retro::cuda {

namespace {

/// 0 and the running sums of `counts`.
at::Tensor begins_of(const at::Tensor& counts) {
  return at::cat({at::zeros({1}, counts.options()), counts.cumsum(0)});
}

}  // namespace

EmbeddingPieces cut_pieces(const at::Tensor& ids_T, int64_t vocabulary, int64_t piece_tokens) {
  const at::Tensor known = ids_T.ge(0).logical_and(ids_T.lt(vocabulary));
  const auto [sorted, order] =
      at::sort(ids_T.masked_fill(known.logical_not(), -1), /*stable=*/std::optional<bool>(true), 0);
  const int64_t skipped = ids_T.numel() - known.sum().item<int64_t>();
  const auto [row_ids, unused, counts] =
      at::unique_consecutive(sorted.slice(0, skipped), false, true);
  const at::Tensor pieces = (counts + (piece_tokens - 1)).floor_divide(piece_tokens);
  const at::Tensor row_begins = begins_of(pieces);
  const int64_t num_pieces = row_begins[-1].item<int64_t>();
  const at::Tensor row = at::arange(row_ids.numel(), ids_T.options())
                             .repeat_interleave(pieces, std::nullopt, num_pieces);
  const at::Tensor within =
      at::arange(num_pieces, ids_T.options()) - row_begins.index_select(0, row);
  const at::Tensor begins = begins_of(counts).index_select(0, row) + within * piece_tokens;
  const at::Tensor end = at::full({1}, ids_T.numel() - skipped, ids_T.options());
  return {order.slice(0, skipped), at::cat({begins, end}), row_ids, row_begins};
}

void embedding_forward(const at::Tensor& weight_VD, const at::Tensor& ids_T,
                       const at::Tensor& out_TD) {
  const LaunchScope scope(weight_VD);
  kernels::launch_embedding_forward(
      kernels::EmbeddingForwardParams<float>{
          read_pointer<float>(weight_VD), read_pointer<int64_t>(ids_T),
          write_pointer<float>(out_TD), ids_T.numel(), weight_VD.size(0), weight_VD.size(1)},
      scope.stream());
}

void embedding_backward(const at::Tensor& grad_TD, const at::Tensor& ids_T,
                        const at::Tensor& grad_VD) {
  const EmbeddingPieces pieces = cut_pieces(ids_T, grad_VD.size(0), kernels::kEmbeddingPieceTokens);
  const int64_t num_pieces = pieces.piece_begins.numel() - 1;
  const int64_t width = grad_VD.size(1);
  const at::Tensor partial = at::empty({num_pieces, width}, grad_VD.options());
  const LaunchScope scope(grad_VD);
  for_type_of(grad_TD, [&](auto type) {
    using T = typename decltype(type)::type;
    kernels::EmbeddingBackwardParams<T> params;
    params.grad = read_pointer<T>(grad_TD);
    params.sorted_tokens = read_pointer<int64_t>(pieces.sorted_tokens);
    params.piece_begins = read_pointer<int64_t>(pieces.piece_begins);
    params.row_ids = read_pointer<int64_t>(pieces.row_ids);
    params.row_begins = read_pointer<int64_t>(pieces.row_begins);
    params.partial = write_pointer<float>(partial);
    params.grad_weight = write_pointer<float>(grad_VD);
    params.pieces = num_pieces;
    params.rows = pieces.row_ids.numel();
    params.width = width;
    kernels::launch_embedding_backward(params, scope.stream());
  });
}

}  // namespace retro::cuda
