// The stream a launcher works in.
#pragma once

namespace retro::kernels {

/// A cudaStream_t without the toolkit's headers; null is the default stream.
using StreamHandle = void*;

}  // namespace retro::kernels
