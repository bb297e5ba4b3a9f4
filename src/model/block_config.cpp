#include "retro/model/block_config.h"

#include "retro/core/error.h"

namespace retro {

void RotaryConfig::visit_fields(FieldVisitor& visit) {
  visit("base", base, "of the rotary frequencies");
  visit.choice("scaling", scaling, {"none", "linear", "ntk", "yarn", "llama3"},
               "how frequencies are stretched for longer texts");
  visit("factor", factor, "how much longer the text may be");
  visit("original_length", original_length, "tokens trained for before stretching (yarn, llama3)");
  visit("low_frequency_factor", low_frequency_factor,
        "llama3: waves longer than original_length / this are stretched");
  visit("high_frequency_factor", high_frequency_factor,
        "llama3: waves shorter than original_length / this are kept");
  visit("beta_fast", beta_fast, "yarn: turns above which a frequency is kept");
  visit("beta_slow", beta_slow, "yarn: turns below which a frequency is stretched");
  visit("attention_factor", attention_factor,
        "yarn: factor of queries and keys; 0: 0.1 ln(factor) + 1");
}

void BlockConfig::visit_fields(FieldVisitor& visit) {
  visit.choice("norm", norm, {"rms", "layer"}, "RMSNorm, or LayerNorm with bias");
  visit("norm_epsilon", norm_epsilon, "added to the norm's mean square or variance");
  visit.choice("positions", positions, {"relative", "rotary", "learned", "none"},
               "of self-attention; learned ones are added to the embedding");
  visit("max_positions", max_positions, "rows of the learned positions");
  visit("key_value_heads", key_value_heads, "heads of keys and values; 0: as many as heads");
  visit.choice("feed_forward", feed_forward, {"gelu", "swiglu"}, "activation of the feed-forward");
  visit("bias", bias, "linear layers have a bias");
  visit("rotary", rotary, "rotary positions");
}

namespace {

void check_rotary(const RotaryConfig& rotary, int64_t head_width) {
  RETRO_CHECK(head_width % 2 == 0, "model.head_width is {}; rotary positions need an even one",
              head_width);
  RETRO_CHECK(rotary.base > 1, "model.block.rotary.base is {}; it must be above 1", rotary.base);
  RETRO_CHECK(rotary.factor >= 1, "model.block.rotary.factor is {}; it must be at least 1",
              rotary.factor);
  const bool needs_length = rotary.scaling == "yarn" || rotary.scaling == "llama3";
  RETRO_CHECK(!needs_length || rotary.original_length > 0,
              "model.block.rotary.scaling is {}: it needs model.block.rotary.original_length",
              rotary.scaling);
  RETRO_CHECK(
      rotary.scaling != "llama3" || rotary.high_frequency_factor > rotary.low_frequency_factor,
      "model.block.rotary.high_frequency_factor is {}; it must be above low_frequency_factor ({})",
      rotary.high_frequency_factor, rotary.low_frequency_factor);
}

}  // namespace

void check_block(const BlockConfig& block, int64_t heads, int64_t head_width) {
  RETRO_CHECK(block.norm_epsilon > 0, "model.block.norm_epsilon is {}; it must be above 0",
              block.norm_epsilon);
  RETRO_CHECK(block.key_value_heads > 0 && heads % block.key_value_heads == 0,
              "model.block.key_value_heads is {}, which does not divide model.heads ({})",
              block.key_value_heads, heads);
  RETRO_CHECK((block.positions == "learned") == (block.max_positions > 0),
              "model.block.max_positions is {}, model.block.positions is {}: learned positions "
              "need their number, others have none",
              block.max_positions, block.positions);
  if (block.positions == "rotary") check_rotary(block.rotary, head_width);
}

}  // namespace retro
