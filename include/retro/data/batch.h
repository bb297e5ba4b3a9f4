// A batch of sequences with their neighbours.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace retro {

/// B sequences of N = l*m positions (METHOD section 4, streams and packing). Targets are the next
/// tokens of the stream, also across the sequence's border.
struct Batch {
  at::Tensor tokens_BN;          ///< int64
  at::Tensor real_BN;            ///< bool: false positions are padding
  at::Tensor targets_BN;         ///< int64 (0 where not scored)
  at::Tensor target_is_real_BN;  ///< bool: scored
  at::Tensor target_bytes_BN;    ///< int32: source bytes of the target (0 for end of document)
  at::Tensor target_row_BN;  ///< int64: chunk-grid row the target belongs to, -1 where not scored
  at::Tensor document_BN;   ///< int64: running number of the document within the stream, -1 in fill
  at::Tensor chunk_row_BL;  ///< int64: chunk-grid row of each chunk, -1 for lead and fill chunks
  at::Tensor neighbours_BLKR;  ///< int64 ids, -1 padding; undefined when K = 0
  at::Tensor frozen_BND;       ///< see ModelInput::frozen_BND; undefined unless it is cached
  int64_t num_targets = 0;
};

/// Sequences first .. first + count - 1 of a batch, as views.
Batch sequences_of(const Batch& batch, int64_t first, int64_t count);
/// With what the model reads in pinned memory, from where a GPU fetches it in the background.
Batch pinned(Batch batch);

}  // namespace retro
