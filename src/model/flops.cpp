// Floating-point operations of a forward pass: the numerator of "share of GEMM peak".
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

double RetroModelImpl::forward_flops(int64_t batch, int64_t length, int64_t neighbours) const {
  const int64_t m = config_.chunk_length;
  const bool retrieves = encoder != nullptr && length >= m;
  const Counter count{config_,
                      static_cast<double>(batch),
                      static_cast<double>(length),
                      static_cast<double>(length / m),
                      retrieves ? static_cast<double>(neighbours) : 0.0,
                      static_cast<double>(2 * m),
                      static_cast<double>(m)};
  double flops = product(static_cast<double>(batch * length), static_cast<double>(config_.width),
                         static_cast<double>(config_.vocabulary));
  for (const auto& layer : decoder->layers) flops += count.decoder_layer(layer->is_retro_layer());
  if (count.k > 0) {
    for (const auto& layer : encoder->layers)
      flops += count.encoder_layer(layer->cross_attention != nullptr);
  }
  return flops;
}

}  // namespace retro
