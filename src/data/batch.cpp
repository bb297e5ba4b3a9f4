#include "retro/data/batch.h"

namespace retro {

Batch pinned(Batch batch) {
  for (at::Tensor* tensor :
       {&batch.tokens_BN, &batch.real_BN, &batch.targets_BN, &batch.target_is_real_BN,
        &batch.document_BN, &batch.neighbours_BLKR}) {
    if (tensor->defined()) *tensor = tensor->pin_memory();
  }
  return batch;
}

}  // namespace retro
