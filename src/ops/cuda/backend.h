// What stands behind operations on a GPU. One of three, chosen at link time: backend_cuda.cpp in a
// build with CUDA, no_cuda.cpp in one without, the simulator in tests (tests/support/device).
#pragma once

#include <c10/core/Device.h>

#include "kernels/gemm.h"

struct __nv_bfloat16;

namespace retro::cuda {

/// The toolkit's bfloat16, of which this layer handles pointers only.
using bfloat16 = ::__nv_bfloat16;

/// False: this build has no device "cuda".
bool is_built();

/// The device's stream that LibTorch works in.
kernels::StreamHandle current_stream(c10::Device device);

/// Matrix products with float32 results on the current device, in LibTorch's current stream (the
/// one that multiply() is handed must be it).
template <typename T>
kernels::Gemm<T>& gemm();

}  // namespace retro::cuda
