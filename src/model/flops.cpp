#include "retro/model/flops.h"

#include <algorithm>

#include "retro/model/retro_model.h"

namespace retro {
namespace {

/// A matrix product counts a multiply and an add.
double product(double rows, double inner, double columns) { return 2.0 * rows * inner * columns; }

struct Counter {
  const ModelConfig& config;
  double batch, length, chunks, k, r, m;

  /// Scores, weighted values and position scores of `pairs` query-key pairs.
  double attention(double pairs, double inner, bool is_relative = true) const {
    return (is_relative ? 3 : 2) * 2.0 * pairs * inner;
  }

  double decoder_layer(bool is_retro) const {
    const auto d = static_cast<double>(config.width);
    const auto inner = static_cast<double>(config.heads * config.head_width);
    const double tokens = batch * length;
    const BlockConfig& block = config.block;
    const auto key_inner = static_cast<double>(block.key_value_heads * config.head_width);
    double flops = 2 * product(tokens, d, inner) + 2 * product(tokens, d, key_inner);
    const bool is_relative = block.positions == "relative";
    if (is_relative) flops += product(length, d, inner);
    flops += attention(batch * length * (length + 1) / 2, inner, is_relative);
    flops += (block.feed_forward == "swiglu" ? 3 : 2) *
             product(tokens, d, static_cast<double>(config.feed_forward));
    if (!is_retro || k == 0) return flops;
    const double retrieved = batch * chunks * k * r;
    flops += 2 * product(tokens, d, inner) +
             2 * product(retrieved, static_cast<double>(config.encoder.width), inner);
    const bool is_relative_cca = config.cca_scheme == "relative";
    if (is_relative_cca) flops += product(r + m - 1, d, inner);
    return flops + attention(batch * (length - m + 1) * k * r, inner, is_relative_cca);
  }

  double encoder_layer(bool is_conditioned) const {
    const EncoderConfig& encoder = config.encoder;
    const auto e = static_cast<double>(encoder.width);
    const auto inner = static_cast<double>(encoder.heads * encoder.head_width);
    const double values = batch * chunks * k, retrieved = values * r;
    double flops = 4 * product(retrieved, e, inner) + product(2 * r - 1, e, inner) +
                   attention(values * r * r, inner);
    flops += 2 * product(retrieved, e, static_cast<double>(encoder.feed_forward));
    if (!is_conditioned) return flops;
    flops += 2 * product(retrieved, e, inner) + product(r + m - 1, e, inner);
    flops += 2 * product(batch * chunks * m, static_cast<double>(config.width), inner);
    return flops + attention(values * r * m, inner);
  }
};

}  // namespace

double forward_flops(const ModelConfig& config, int64_t batch, int64_t length, int64_t neighbours) {
  const int64_t m = config.chunk_length;
  const auto is_in = [](const std::vector<int64_t>& layers, int64_t i) {
    return std::find(layers.begin(), layers.end(), i) != layers.end();
  };
  const bool retrieves = !config.cca_layers.empty() && length >= m;
  const Counter count{config,
                      static_cast<double>(batch),
                      static_cast<double>(length),
                      static_cast<double>(length / m),
                      retrieves ? static_cast<double>(neighbours) : 0.0,
                      static_cast<double>(2 * m),
                      static_cast<double>(m)};
  double flops = product(static_cast<double>(batch * length), static_cast<double>(config.width),
                         static_cast<double>(config.vocabulary));
  for (int64_t i = 0; i < config.layers; ++i)
    flops += count.decoder_layer(is_in(config.cca_layers, i));
  const EncoderConfig& encoder = config.encoder;
  for (int64_t i = 0; i < encoder.layers && count.k > 0; ++i) {
    flops +=
        count.encoder_layer(encoder.query_conditioning && is_in(encoder.cross_attention_layers, i));
  }
  return flops;
}

double RetroModelImpl::forward_flops(int64_t batch, int64_t length, int64_t neighbours) const {
  return retro::forward_flops(config_, batch, length, neighbours);
}

}  // namespace retro
