// Chunk text to key vectors: the frozen encoder behind the retrieval database. Knows no Torch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro {

/// One recipe embeds database chunks and queries (METHOD section 2): the key of a text is the same
/// alone or in any batch, up to the stated precision.
class ChunkEmbedder {
 public:
  virtual ~ChunkEmbedder() = default;

  /// Features of a key.
  virtual int64_t key_width() const = 0;
  /// Writes keys_TQ, row-major [texts.size(), key_width()]. has_key[t] is 0, and the row 0, for a
  /// text without a single real piece. Texts of any length; any order (the embedder sorts by length
  /// inside). Not thread-safe.
  virtual void embed(std::span<const std::string> texts, std::span<float> keys_TQ,
                     std::span<uint8_t> has_key) = 0;
  /// Names weights, vocabulary, recipe and precision; stored in the database and compared at query
  /// time.
  virtual std::string identity() const = 0;
  /// Pieces read by embed so far (for "WordPieces/s").
  virtual int64_t pieces_read() const = 0;
};

}  // namespace retro
