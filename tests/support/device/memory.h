// Memory of the simulated device: the host's, known to the kernel simulator.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace retro::simulated_device {

inline const c10::Device kDevice{c10::DeviceType::CUDA, 0};

c10::Allocator* allocator();

/// A device tensor that takes over the memory of a host tensor. `name` stands in messages of the
/// simulator.
at::Tensor to_device(const at::Tensor& host, const std::string& name);

/// The same memory as a tensor on the host.
at::Tensor to_host(const at::Tensor& device);

/// The host wrote to all elements of a device tensor.
void mark_written(const at::Tensor& device);

}  // namespace retro::simulated_device
