#include "retro/data/batch.h"

namespace retro {

Batch sequences_of(const Batch& batch, int64_t first, int64_t count) {
  Batch some = batch;
  for (at::Tensor* tensor :
       {&some.tokens_BN, &some.real_BN, &some.targets_BN, &some.target_is_real_BN,
        &some.target_bytes_BN, &some.target_row_BN, &some.document_BN, &some.chunk_row_BL,
        &some.neighbours_BLKR, &some.frozen_BND}) {
    if (tensor->defined()) *tensor = tensor->narrow(0, first, count);
  }
  some.num_targets = some.target_is_real_BN.sum(at::kLong).item<int64_t>();
  return some;
}

Batch pinned(Batch batch) {
  for (at::Tensor* tensor :
       {&batch.tokens_BN, &batch.real_BN, &batch.targets_BN, &batch.target_is_real_BN,
        &batch.document_BN, &batch.neighbours_BLKR}) {
    if (tensor->defined()) *tensor = tensor->pin_memory();
  }
  return batch;
}

}  // namespace retro
