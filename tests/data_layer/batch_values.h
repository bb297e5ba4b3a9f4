// A batch's tensors as plain values.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace retro::testing {

inline std::vector<int64_t> longs(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).contiguous().flatten();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

}  // namespace retro::testing
