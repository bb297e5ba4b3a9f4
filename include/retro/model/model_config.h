// The shape of a model: every key of the paper's configurations and ablations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/core/config.h"
#include "retro/model/block_config.h"

namespace retro {

/// The neighbour encoder. Values of 0 mean "as the decoder's".
struct EncoderConfig {
  int64_t width = 0;  ///< d'
  int64_t layers = 2;
  int64_t heads = 0;
  int64_t head_width = 0;
  int64_t feed_forward = 0;                           ///< 0: 4 d'
  std::vector<int64_t> cross_attention_layers = {0};  ///< P_enc, 0-based
  bool query_conditioning = true;
  void visit_fields(FieldVisitor& visit);
};

struct ModelConfig {
  int64_t vocabulary = 0;  ///< 0: the tokenizer's
  int64_t width = 128;     ///< d
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t head_width = 32;                ///< A; heads * head_width need not equal width
  int64_t feed_forward = 0;               ///< 0: 4 d
  int64_t chunk_length = 64;              ///< m
  std::vector<int64_t> cca_layers = {2};  ///< P, 0-based; empty: a baseline (no encoder)
  EncoderConfig encoder;
  BlockConfig block;              ///< the decoder's blocks; native by default
  bool share_embeddings = false;  ///< encoder reads the decoder's embedding (needs d = d')
  bool tie_output = false;        ///< output projection = embedding
  double init_std = 0.02;         ///< 0: 1/sqrt(d)
  double dropout = 0.0;           ///< of what each part of a layer adds to the stream, in training
  bool cca_positions = true;      ///< ablation: false drops the position term in CCA
  std::string cca_scheme = "relative";  ///< relative | rotary (base and scaling of block.rotary)
  std::string retrieved_part =
      "both";  ///< ablation: both | neighbour (F masked) | continuation (N masked)
  bool attend_across_documents = true;
  void visit_fields(FieldVisitor& visit);

  /// Fills the zeros and checks; throws Error naming the key. Idempotent.
  ModelConfig resolved() const;
};

}  // namespace retro
