// A module that is one tensor, so that parameters carry METHOD section 3's dotted names.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <torch/nn/module.h>

namespace retro {

/// Parameter "weight" of the given shape, uninitialised until the model draws it.
class WeightImpl : public torch::nn::Module {
 public:
  explicit WeightImpl(std::initializer_list<int64_t> shape);
  at::Tensor weight;
};

}  // namespace retro
