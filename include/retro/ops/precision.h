// The type of matrix products, and on a GPU of activations. Parameters, sums, statistics and
// optimizer state stay float32.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace retro {

enum class Precision { kFloat32, kBfloat16 };

/// This CPU multiplies bfloat16 without widening it first (AVX512_BF16 or AMX).
bool has_bfloat16_products();
/// "float32", "bfloat16", or "auto": bfloat16 where this CPU has bfloat16 dot products (AVX512_BF16
/// or AMX), else float32. Throws Error for anything else, and for "bfloat16" on a device that
/// cannot.
Precision resolve_precision(const std::string& name);
/// The same for a device: a GPU has bfloat16, and "auto" takes it.
Precision resolve_precision(const std::string& name, at::Device device);
/// What flows through the layers, as they take it: bfloat16 on a GPU where products are bfloat16;
/// on the CPU the tensor as it is.
at::Tensor as_activations(const at::Tensor& tensor, Precision precision);
std::string precision_name(Precision precision);

}  // namespace retro
