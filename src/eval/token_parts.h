// Losses of one pass summed over the parts of a partition of its tokens, document by document.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "retro/eval/bootstrap.h"
#include "retro/eval/loss_file.h"
#include "retro/text/chunker.h"

namespace retro {

/// The part of target number `index` of a row (its end-of-document token comes after its last
/// token). The same for every pass.
using PartOf = std::function<size_t(int64_t row, int64_t index)>;

struct PartSum {
  double nats = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
};

/// sums[part][d]: the scored targets of the grid's d-th document that fall into `part`. Of `rows`
/// only.
std::vector<std::vector<PartSum>> sum_parts(const LossFile& file, const ChunkGrid& grid,
                                            std::span<const int64_t> rows, size_t num_parts,
                                            const PartOf& part_of);

/// A part's documents under two systems, for the paired bootstrap. Documents without a token of it
/// are left out; one of whose tokens only the end of the document is in it counts, nats without
/// bytes.
std::vector<PairedLoss> pair_losses(std::span<const PartSum> reference,
                                    std::span<const PartSum> system);

/// Sum over documents.
PartSum total(std::span<const PartSum> documents);

}  // namespace retro
