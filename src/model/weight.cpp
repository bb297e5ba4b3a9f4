#include "retro/model/weight.h"

namespace retro {

WeightImpl::WeightImpl(std::initializer_list<int64_t> shape)
    : weight(register_parameter("weight", torch::zeros(c10::IntArrayRef(shape)))) {}

}  // namespace retro
