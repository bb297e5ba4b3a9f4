// The model, a few positions at a time: each position's logits equal the full forward's (METHOD section 7).
#pragma once

#include "retro/generate/key_value_cache.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace retro {

/// Tokens to append to one sequence. They may not reach past the end of the chunk that is being filled.
struct AppendRequest {
  KeyValueCache* cache = nullptr;
  std::span<const int32_t> tokens;
  bool is_padding = false;   ///< masked positions (a lead chunk's first m-1): never keys
};

class CachedDecoder {
 public:
  /// `fetcher` null or `neighbours` 0: retrieval off. Relative tables for a window of n are computed once.
  CachedDecoder(RetroModel model, NeighbourFetcher* fetcher, int64_t neighbours, int64_t window_length);
  ~CachedDecoder();

  KeyValueCache new_cache() const;
  /// A lead chunk: m-1 masked positions and one end-of-document token. Logits [V] for the first real token.
  at::Tensor begin(KeyValueCache& cache, int32_t end_of_document);

  /// Appends to several sequences at once (their positions may differ); a sequence whose chunk becomes complete
  /// fetches its neighbours first, and that chunk's last token already reads them. Returns the logits after each
  /// sequence's last token, [requests, V].
  at::Tensor append(std::span<const AppendRequest> requests);
  /// The same for a text of any length: block by block along the chunk grid, dropping old chunks when the window is full.
  at::Tensor append_text(KeyValueCache& cache, std::span<const int32_t> tokens);

  /// Drops the oldest l/2 chunks, keeps the grid and the neighbours of those kept, recomputes the cache.
  void drop_oldest(KeyValueCache& cache);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retro
