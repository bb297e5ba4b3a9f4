// Which documents an epoch holds when sources have weights (METHOD section 4, order).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "retro/text/chunker.h"

namespace retro {

/// Every source is an endless sequence of passes, each a shuffle of its documents by (seed, source,
/// pass). An epoch takes the next stretch of each sequence, as many tokens as the source's weight
/// gives it; a document belongs to the epoch its first token falls into. With the default weights
/// (by tokens) an epoch is exactly one pass over everything.
class SourceMixture {
 public:
  /// Empty `weights`: every source by its tokens. Otherwise a source that is not named, or has
  /// weight 0, is not read. Throws Error for a name the grid's documents do not have, a negative
  /// weight, or no text at all.
  SourceMixture(const ChunkGrid& grid, const std::map<std::string, double>& weights, uint64_t seed);

  /// Positions within the grid of the documents of `epoch`, source by source. A pure function of
  /// (seed, epoch).
  std::vector<int64_t> documents(int64_t epoch) const;

 private:
  struct Source {
    std::string name;
    std::vector<int64_t> documents;  ///< positions within the grid
    int64_t num_tokens = 0;
    int64_t tokens_per_epoch = 0;
  };
  void append_documents(const Source& source, int64_t epoch, std::vector<int64_t>& out) const;

  const ChunkGrid* grid_;
  uint64_t seed_;
  std::vector<Source> sources_;
};

}  // namespace retro
