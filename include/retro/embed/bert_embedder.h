// A frozen BERT (any directory in the Hugging Face layout: config.json, model.safetensors,
// vocab.txt) as embedder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "retro/core/config.h"
#include "retro/embed/chunk_embedder.h"

namespace retro {

struct EmbedConfig {
  std::string model;  ///< directory; "hashed:W" is the weightless embedder of width W
  /// float32 | bfloat16 | auto: of a new database bfloat16 where the CPU has the instructions. A
  /// CPU without them computes bfloat16 keys too, slower than float32 ones.
  std::string precision = "auto";
  int64_t batch_pieces =
      512;  ///< WordPieces that one thread reads in a forward pass: what its cache holds
  void visit_fields(FieldVisitor& visit);
};

/// Mean of the last hidden states over real pieces, [CLS]/[SEP] and padding left out; windows of
/// 510 pieces for longer texts (METHOD section 2). Texts are laid end to end, attention runs text
/// by text: no padding is computed. Blocks of texts are read by ATen's threads side by side.
class BertEmbedder final : public ChunkEmbedder {
 public:
  /// Throws Error naming a missing file, a tensor of the wrong shape, or an architecture that is no
  /// BERT.
  BertEmbedder(const std::filesystem::path& directory, const EmbedConfig& config);
  ~BertEmbedder() override;
  int64_t key_width() const override;
  void embed(std::span<const std::string> texts, std::span<float> keys_TQ,
             std::span<uint8_t> has_key) override;
  std::string identity() const override;
  int64_t pieces_read() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "float32" or "bfloat16": how an embedder of this identity multiplies; empty for one that is no
/// BERT.
std::string precision_of_keys(std::string_view identity);

/// By config.model: "hashed:W" or a BERT directory.
std::unique_ptr<ChunkEmbedder> make_embedder(const EmbedConfig& config);

}  // namespace retro
