// Where tensors live and operations run.
#pragma once

#include <string>

#include <c10/core/Device.h>

namespace retro {

/// "cpu", or "cuda": the first GPU that this process sees. Throws Error for another name, for
/// "cuda" in a build without it, and where there is no GPU. "cuda" turns LibTorch's shortcuts for
/// its matrix products off: TF32, and sums in bfloat16.
at::Device resolve_device(const std::string& name);

/// What this build can name: "cpu", or "cpu, cuda".
std::string built_devices();

}  // namespace retro
