// How the parts of a layer add to the stream.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>

#include "retro/model/attention.h"
#include "retro/model/feed_forward.h"

namespace retro {

/// What a layer does with its updates. Dropout draws from Torch's default generator.
struct ResidualSettings {
  Precision precision = Precision::kFloat32;
  double dropout = 0.0;  ///< 0 outside training
};

inline ResidualSettings residual_settings(const torch::nn::Module& layer, double dropout,
                                          Precision precision) {
  return {precision, layer.is_training() ? dropout : 0.0};
}

inline at::Tensor add_attended(const at::Tensor& stream, const AttentionImpl& attention,
                               const at::Tensor& attended, const ResidualSettings& settings) {
  if (settings.dropout == 0.0) return attention.add_output(stream, attended, settings.precision);
  const at::Tensor update = attention.project_output(attended, settings.precision);
  return stream + at::dropout(update, settings.dropout, true);
}

inline at::Tensor add_fed_forward(const at::Tensor& stream, const FeedForwardImpl& feed_forward,
                                  const ResidualSettings& settings) {
  if (settings.dropout == 0.0) return feed_forward.add_to(stream, settings.precision);
  const at::Tensor update = feed_forward.forward(stream, settings.precision);
  return stream + at::dropout(update, settings.dropout, true);
}

}  // namespace retro
