// The forward pass of a frozen BERT over texts laid end to end: no padding exists.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

#include "bert_config.h"
#include "bert_weights.h"

namespace retro {

/// Texts as WordPiece ids with their special tokens, one after the other. T ids in all.
struct PackedPieces {
  std::vector<int32_t> ids_T;
  std::vector<int64_t> first = {0};  ///< where each text begins; one more than there are texts

  int64_t num_texts() const { return static_cast<int64_t>(first.size()) - 1; }
  int64_t num_pieces() const { return static_cast<int64_t>(ids_T.size()); }
  void append(int32_t id) { ids_T.push_back(id); }
  void end_text() { first.push_back(num_pieces()); }
};

/// Linear layers run over all T pieces at once, attention text by text. In bfloat16 the operands of
/// matrix products are rounded; sums, softmax, layer norm and the residual stream are float32.
/// Thread-safe.
class BertEncoder {
 public:
  BertEncoder(const BertConfig& config, BertWeights weights, Precision precision);

  /// Last hidden states [T, width], float32. Each text has 1 to `positions` pieces.
  at::Tensor forward(const PackedPieces& pieces) const;
  const BertConfig& config() const { return config_; }

 private:
  at::Tensor embed(const PackedPieces& pieces) const;
  template <class S>
  at::Tensor forward_as(const PackedPieces& pieces) const;

  BertConfig config_;
  BertWeights weights_;
  Precision precision_;
};

}  // namespace retro
