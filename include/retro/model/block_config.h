// What a decoder's blocks are made of: the native blocks of METHOD section 3, or those of imported
// checkpoints. Small options of one decoder; the encoder and cross-attention are always native.
#pragma once

#include <cstdint>
#include <string>

#include "retro/core/config.h"

namespace retro {

/// Rotary positions (arXiv 2104.09864) and how their frequencies are stretched for longer texts.
struct RotaryConfig {
  double base = 10000;
  std::string scaling = "none";      ///< none | linear | ntk | yarn | llama3
  double factor = 1;                 ///< how much longer than `original_length`
  int64_t original_length = 0;       ///< tokens the model was trained for before (yarn, llama3)
  double low_frequency_factor = 1;   ///< llama3: longer waves are stretched
  double high_frequency_factor = 4;  ///< llama3: shorter waves are kept
  double beta_fast = 32;             ///< yarn: turns above which a frequency is kept
  double beta_slow = 1;              ///< yarn: turns below which it is stretched
  double attention_factor = 0;       ///< yarn: of queries and keys; 0: 0.1 ln(factor) + 1
  void visit_fields(FieldVisitor& visit);
};

struct BlockConfig {
  std::string norm = "rms";  ///< rms | layer (with bias)
  double norm_epsilon = 1e-6;
  std::string positions = "relative";  ///< relative | rotary | learned | none
  int64_t max_positions = 0;           ///< rows of learned positions
  int64_t key_value_heads = 0;         ///< 0: as many as heads
  std::string feed_forward = "gelu";   ///< gelu (tanh form) | swiglu
  bool bias = false;                   ///< of every linear layer
  RotaryConfig rotary;
  void visit_fields(FieldVisitor& visit);
};

/// Throws Error naming the key ("model.block.rotary.factor ...").
void check_block(const BlockConfig& block, int64_t heads, int64_t head_width);

}  // namespace retro
