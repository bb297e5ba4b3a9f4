// Peak memory of a device while something runs.
#pragma once

#include <cstdint>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

namespace retro {

inline void forget_peak_memory(c10::Device device) {
  if (device.is_cuda()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

/// Bytes; 0 on the CPU, where nobody counts them.
inline int64_t peak_memory(c10::Device device) {
  if (!device.is_cuda()) return 0;
  return c10::getDeviceAllocator(device.type())
      ->getDeviceStats(device.index())
      .allocated_bytes[0]  // of all sizes
      .peak;
}

}  // namespace retro
