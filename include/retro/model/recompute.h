// Activations formed again in backward instead of kept.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace retro {

/// What forward keeps for backward.
enum class Recompute {
  kNone,   ///< every activation
  kBlock,  ///< what enters each attention and each feed-forward; the rest is formed again
};

/// One result from some tensors; called a second time in backward, so it captures by value.
using LayerPart = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

/// part(inputs). With kBlock, where gradients are wanted, only `inputs` are kept for backward:
/// there the part runs once more, with the same random numbers (dropout). `weights` are what it
/// reads besides; all that is to have gradients must be in one of the two. Gradients are those of
/// the plain call, bit for bit. After Chen et al. 2016, section 3. Random numbers: Torch's default
/// generator of the first input's device.
at::Tensor run_part(Recompute recompute, const LayerPart& part,
                    const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& weights);

}  // namespace retro
