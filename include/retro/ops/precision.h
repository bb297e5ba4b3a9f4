// The type of matrix products. Parameters, sums, statistics and optimizer state stay float32.
#pragma once

#include <string>

namespace retro {

enum class Precision { kFloat32, kBfloat16 };

/// "float32", "bfloat16", or "auto": bfloat16 where this CPU has bfloat16 dot products (AVX512_BF16
/// or AMX), else float32. Throws Error for anything else, and for "bfloat16" on a device that
/// cannot.
Precision resolve_precision(const std::string& name);
std::string precision_name(Precision precision);

}  // namespace retro
