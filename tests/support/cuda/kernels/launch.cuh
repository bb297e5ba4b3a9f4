// The simulator's kernels/launch.cuh: the same names, with pointers that check every access.
#pragma once

#include <cuda_runtime.h>

#include "kernels/stream.h"
#include "simulator/global_memory.h"

namespace retro::kernels {

template <typename T>
using GlobalPointer = simulator::CheckedPointer<T>;
template <typename T>
using SharedPointer = simulator::CheckedPointer<T>;

template <typename T>
GlobalPointer<T> global(T* pointer) {
  return {pointer, simulator::region_of(pointer)};
}

template <typename T>
SharedPointer<T> dynamic_shared(int64_t offset_bytes = 0) {
  return {reinterpret_cast<T*>(simulator::dynamic_shared_memory() + offset_bytes),
          simulator::dynamic_shared_region()};
}

template <typename Tag, typename T, int kCount>
SharedPointer<T> static_shared() {
  static const char tag = 0;
  simulator::Region* region = nullptr;
  auto* memory = simulator::static_shared_memory(&tag, kCount * sizeof(T), &region);
  return {reinterpret_cast<T*>(memory), region};
}

template <typename V, typename T>
V load_as(simulator::CheckedPointer<T> pointer) {
  return pointer.template load<V>();
}
template <typename V, typename T>
void store_as(simulator::CheckedPointer<T> pointer, const V& value) {
  pointer.template store<V>(value);
}

inline size_t largest_shared_bytes() { return simulator::largest_shared_bytes; }

template <typename Params>
void launch(void (*kernel)(Params), dim3 grid, dim3 block, size_t shared_bytes, StreamHandle,
            const Params& params) {
  simulator::run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes,
                      [&] { kernel(params); });
}

}  // namespace retro::kernels
