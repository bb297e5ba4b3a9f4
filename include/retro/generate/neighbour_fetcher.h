// Where a generator's neighbours come from: a live retriever, or anything a test makes up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/retrieval/retriever.h"
#include "retro/text/tokenizer.h"

namespace retro {

struct FetchedNeighbour {
  int64_t chunk_id = kMissing;
  float distance = 0;
  std::vector<int32_t> value_R;  ///< N in [0, m), F in [m, 2m), each filled up with -1
  std::string source, document, title;
};

class NeighbourFetcher {
 public:
  virtual ~NeighbourFetcher() = default;
  /// For each chunk of m tokens its k nearest neighbours, nearest first; fewer where there are
  /// fewer.
  virtual std::vector<std::vector<FetchedNeighbour>> fetch(
      const std::vector<std::vector<int32_t>>& chunks, int64_t k) = 0;
};

/// Chunk text -> key -> index -> values and documents. Refuses a database made with another
/// tokenizer.
class LiveNeighbours final : public NeighbourFetcher {
 public:
  LiveNeighbours(Retriever& retriever, const Tokenizer& tokenizer, int num_threads = 1);
  std::vector<std::vector<FetchedNeighbour>> fetch(const std::vector<std::vector<int32_t>>& chunks,
                                                   int64_t k) override;

 private:
  Retriever* retriever_;
  const Tokenizer* tokenizer_;
  int num_threads_;
};

}  // namespace retro
