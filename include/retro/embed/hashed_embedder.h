// A deterministic embedder without weights: signed feature hashing of word n-grams. For tests and
// dry runs.
#pragma once

#include "retro/embed/chunk_embedder.h"

namespace retro {

/// Unit-norm sum of signed hashed features of lower-cased words and word pairs.
class HashedEmbedder final : public ChunkEmbedder {
 public:
  explicit HashedEmbedder(int64_t key_width);
  int64_t key_width() const override { return key_width_; }
  void embed(std::span<const std::string> texts, std::span<float> keys_TQ,
             std::span<uint8_t> has_key) override;
  std::string identity() const override;
  int64_t pieces_read() const override { return pieces_read_; }

 private:
  int64_t key_width_;
  int64_t pieces_read_ = 0;
};

}  // namespace retro
