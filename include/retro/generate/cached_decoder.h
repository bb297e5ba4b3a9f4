// The model, a few positions at a time: each position's logits equal the full forward's (METHOD
// section 7).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "retro/generate/key_value_cache.h"

namespace retro {

/// Tokens to append to one sequence; they may not reach past the end of the chunk that is being
/// filled.
struct AppendRequest {
  KeyValueCache* cache = nullptr;
  std::span<const int32_t> tokens;
};

/// Computes in float32 whatever the model's training precision: one row is limited by memory, not
/// by arithmetic.
class CachedDecoder {
 public:
  /// `fetcher` null, `neighbours` 0 or a baseline: retrieval off. `window_length` (n) is a multiple
  /// of m, at least 2 m. Relative tables are computed once.
  CachedDecoder(RetroModel model, NeighbourFetcher* fetcher, int64_t neighbours,
                int64_t window_length);
  ~CachedDecoder();

  /// Buffers for one sequence. `begin` makes them itself where the cache is empty.
  KeyValueCache new_cache() const;
  /// A sequence that begins with a lead chunk: m-1 masked positions, then the end-of-document
  /// token. Returns the logits of the first token, [V].
  at::Tensor begin(KeyValueCache& cache, int32_t end_of_document);

  /// Appends to several sequences at once (their positions may differ); a full window drops its
  /// oldest chunks first. A sequence whose chunk becomes complete fetches its neighbours before,
  /// and that chunk's last token already reads them. Returns the logits after each sequence's last
  /// token, float32 [requests, V].
  at::Tensor append(std::span<const AppendRequest> requests);
  /// Text of any length to one sequence, block by block along the chunk grid; chunks that would be
  /// dropped on the way are never computed. Same state and logits ([V]) as token by token. `tokens`
  /// must not be empty.
  at::Tensor append_text(KeyValueCache& cache, std::span<const int32_t> tokens);

  /// Drops the oldest l/2 chunks, keeps the grid and the neighbours of those kept, recomputes the
  /// cache.
  void drop_oldest(KeyValueCache& cache);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retro
