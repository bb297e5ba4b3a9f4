// Checks shared by all operations; each failure is one line naming the operand.
#pragma once

#include <initializer_list>
#include <string>

#include <ATen/core/Tensor.h>

namespace retro {

/// Any extent.
inline constexpr int64_t kAnyExtent = -1;

/// "[2, 3]" of a tensor, "undefined" of none.
std::string shape_of(const at::Tensor& tensor);

/// Throws Error unless `tensor` is defined and has this shape (kAnyExtent matches all).
void check_shape(const at::Tensor& tensor, const char* name, std::initializer_list<int64_t> shape);

/// Throws Error unless `tensor` is float32, or float64 on the CPU, or bfloat16 elsewhere.
void check_real(const at::Tensor& tensor, const char* name);

/// Throws Error unless `tensor` has the type and the device of `like`.
void check_like(const at::Tensor& tensor, const char* name, const at::Tensor& like);

/// For what is trained: like check_like, but float32 where `like` is bfloat16.
void check_parameter(const at::Tensor& tensor, const char* name, const at::Tensor& like);

/// Throws Error unless `tensor` is where `like` is: a kernel would read the other device's memory.
void check_device_like(const at::Tensor& tensor, const char* name, const at::Tensor& like);

/// Throws Error unless `tensor` has this type.
void check_type(const at::Tensor& tensor, const char* name, at::ScalarType type);

/// For the dispatch point of an operation: throws Error for a device that is neither cpu nor cuda.
void check_device(const char* operation, const at::Tensor& tensor);

}  // namespace retro
