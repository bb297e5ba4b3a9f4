// From tensors to what launchers take: typed pointers and a stream.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include "backend.h"

namespace retro::cuda {

/// Makes a tensor's device the current one for a while and knows the stream to launch in.
class LaunchScope {
 public:
  explicit LaunchScope(const at::Tensor& tensor)
      : guard_(tensor.device()), stream_(current_stream(tensor.device())) {}
  kernels::StreamHandle stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  kernels::StreamHandle stream_;
};

/// Null for an undefined tensor.
template <typename T>
const T* read_pointer(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <typename T>
T* write_pointer(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

template <typename T>
struct TypeTag {
  using type = T;
};

/// function(TypeTag<float>) or function(TypeTag<bfloat16>), as the tensor's type says.
template <typename Function>
auto for_type_of(const at::Tensor& tensor, const Function& function) {
  if (tensor.scalar_type() == at::kBFloat16) return function(TypeTag<bfloat16>{});
  return function(TypeTag<float>{});
}

}  // namespace retro::cuda
