#include "retro/model/parameter_count.h"

#include <algorithm>

namespace retro {

namespace {

int64_t norm_size(const BlockConfig& block, int64_t width) {
  return block.norm == "layer" ? 2 * width : width;
}

struct AttentionSize {
  int64_t width;
  int64_t context_width;
  int64_t inner;            ///< H A
  int64_t key_value_inner;  ///< G A
  bool is_relative;
  bool has_bias;
};

/// Projections and positions, without norms.
int64_t attention_size(const AttentionSize& size) {
  int64_t count = 2 * size.width * size.inner + 2 * size.context_width * size.key_value_inner;
  if (size.is_relative) count += size.inner * size.width + 2 * size.inner;
  if (size.has_bias) count += size.inner + 2 * size.key_value_inner + size.width;
  return count;
}

int64_t feed_forward_size(int64_t width, int64_t inner, const BlockConfig& block) {
  const int64_t inward = block.feed_forward == "swiglu" ? 2 : 1;
  const int64_t biases = block.bias ? inward * inner + width : 0;
  return (inward + 1) * width * inner + biases;
}

int64_t decoder_size(const ModelConfig& config) {
  const BlockConfig& block = config.block;
  const int64_t d = config.width;
  const int64_t groups = block.key_value_heads > 0 ? block.key_value_heads : config.heads;
  const AttentionSize attention{.width = d,
                                .context_width = d,
                                .inner = config.heads * config.head_width,
                                .key_value_inner = groups * config.head_width,
                                .is_relative = block.positions == "relative",
                                .has_bias = block.bias};
  const int64_t layer = attention_size(attention) +
                        feed_forward_size(d, config.feed_forward, block) + 2 * norm_size(block, d);
  const int64_t embeddings = (config.tie_output ? 1 : 2) * config.vocabulary * d;
  const int64_t positions = block.positions == "learned" ? block.max_positions * d : 0;
  return embeddings + positions + config.layers * layer + norm_size(block, d);
}

int64_t cross_attention_size(const ModelConfig& config) {
  const int64_t inner = config.heads * config.head_width;
  const AttentionSize attention{.width = config.width,
                                .context_width = config.encoder.width,
                                .inner = inner,
                                .key_value_inner = inner,
                                .is_relative = config.cca_scheme == "relative",
                                .has_bias = false};
  const auto layers = static_cast<int64_t>(config.cca_layers.size());
  return layers * (attention_size(attention) + config.width);
}

int64_t encoder_size(const ModelConfig& config) {
  if (config.cca_layers.empty()) return 0;
  const EncoderConfig& encoder = config.encoder;
  const int64_t e = encoder.width;
  const int64_t inner = encoder.heads * encoder.head_width;
  const int64_t self = attention_size({e, e, inner, inner, true, false}) + e;
  const int64_t cross =
      attention_size({e, config.width, inner, inner, true, false}) + e + config.width;
  const int64_t layer = self + feed_forward_size(e, encoder.feed_forward, BlockConfig{}) + e;
  const int64_t conditioned =
      encoder.query_conditioning ? static_cast<int64_t>(encoder.cross_attention_layers.size()) : 0;
  const int64_t embedding = config.share_embeddings ? 0 : config.vocabulary * e;
  return embedding + encoder.layers * layer + conditioned * cross + e;
}

}  // namespace

ParameterCount count_parameters(const ModelConfig& config) {
  return {decoder_size(config), cross_attention_size(config), encoder_size(config)};
}

}  // namespace retro
