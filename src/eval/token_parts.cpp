#include "token_parts.h"

#include <cmath>

namespace retro {

std::vector<std::vector<PartSum>> sum_parts(const LossFile& file, const ChunkGrid& grid,
                                            std::span<const int64_t> rows, size_t num_parts,
                                            const PartOf& part_of) {
  std::vector<std::vector<PartSum>> sums(
      num_parts, std::vector<PartSum>(static_cast<size_t>(grid.num_documents())));
  for (const int64_t row : rows) {
    const auto document = static_cast<size_t>(grid.document_of_row(row));
    const auto bytes = grid.token_bytes(row);
    const auto nats = file.token_nats(row);
    for (size_t i = 0; i < nats.size(); ++i) {
      if (std::isnan(nats[i])) continue;
      PartSum& sum = sums[part_of(row, static_cast<int64_t>(i))][document];
      sum.nats += static_cast<double>(nats[i]);
      sum.bytes += i < bytes.size() ? bytes[i] : 0;
      ++sum.tokens;
    }
  }
  return sums;
}

std::vector<PairedLoss> pair_losses(std::span<const PartSum> reference,
                                    std::span<const PartSum> system) {
  std::vector<PairedLoss> pairs;
  for (size_t d = 0; d < reference.size(); ++d) {
    if (reference[d].tokens > 0)
      pairs.push_back({reference[d].nats, system[d].nats, reference[d].bytes});
  }
  return pairs;
}

PartSum total(std::span<const PartSum> documents) {
  PartSum sum;
  for (const PartSum& document : documents) {
    sum.nats += document.nats;
    sum.tokens += document.tokens;
    sum.bytes += document.bytes;
  }
  return sum;
}

}  // namespace retro
