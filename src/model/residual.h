// How a part of a layer adds to the stream.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>

namespace retro {

/// stream + update, the update with dropout while training. Draws from Torch's default generator.
inline at::Tensor add_update(const at::Tensor& stream, const at::Tensor& update, double dropout,
                             bool is_training) {
  if (!is_training || dropout == 0.0) return stream + update;
  return stream + at::dropout(update, dropout, true);
}

}  // namespace retro
