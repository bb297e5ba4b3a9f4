// Where a kernel writes.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// Null for an undefined tensor: a result that is not wanted.
template <typename T>
T* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<T>() : nullptr;
}

}  // namespace retro
