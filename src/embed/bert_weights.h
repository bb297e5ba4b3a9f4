// The weights of a frozen BERT, ready for BertEncoder.
#pragma once

#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

#include "bert_config.h"
#include "frozen_linear.h"

namespace retro {

struct LayerNormWeights {
  at::Tensor gain_D;
  at::Tensor shift_D;
};

struct BertLayerWeights {
  FrozenLinear query_key_value;  ///< rows: all queries, all keys, all values
  FrozenLinear attention_output;
  LayerNormWeights attention_norm;
  FrozenLinear up;
  FrozenLinear down;
  LayerNormWeights output_norm;
};

struct BertWeights {
  at::Tensor word_VD;
  at::Tensor position_PD;  ///< the embedding of token type 0 is added: no other type occurs
  LayerNormWeights embedding_norm;
  std::vector<BertLayerWeights> layers;
};

/// Reads the tensors of `path`, whose names may begin with `bert.`; LayerNorm's may be called gamma
/// and beta. Any floating type. Throws Error naming a tensor that is missing or of another shape.
BertWeights load_bert_weights(const std::filesystem::path& path, const BertConfig& config,
                              Precision precision);

}  // namespace retro
