// What the parity tests run on: here the simulator. tests/support/gpu has the file of the same name
// for a real device; the tests are compiled once for each.
#pragma once

#include "simulator/global_memory.h"
#include "simulator/grid.h"
#include "simulator/reference_gemm.h"

namespace retro::testing {

template <typename T>
using Buffer = simulator::DeviceBuffer<T>;
template <typename T>
using DeviceGemm = simulator::ReferenceGemm<T>;

inline constexpr const char* kDeviceName = "the simulator";

/// For a block.
inline size_t largest_shared_bytes() { return simulator::largest_shared_bytes; }

/// Another order of threads.
inline void change_order(unsigned seed) { simulator::set_seed(seed); }

/// On a real device: wait, and throw what went wrong.
inline void finish_launches() {}

}  // namespace retro::testing
