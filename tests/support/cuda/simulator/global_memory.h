// The memory of the simulated device: what a launch may reach.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "simulator/checked_pointer.h"

namespace retro::simulator {

/// The region that holds `pointer`; throws SimulatorError where no buffer was registered there.
Region* region_of(const void* pointer);

Region* add_region(std::string name, Region::Kind kind, const void* data, size_t bytes,
                   size_t unit_bytes, bool is_initialised);
void remove_region(const void* data);

/// The host (a stand-in for a library) wrote here between two launches.
void mark_written(const void* pointer, size_t bytes);

/// Owns an array on the "device". Fresh elements count as uninitialised and hold 0xcd bytes.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::string name, size_t count) : DeviceBuffer(count) {
    std::memset(static_cast<void*>(data()), 0xcd, count * sizeof(T));
    add_region(std::move(name), Region::Kind::kGlobal, data(), count * sizeof(T), unit(), false);
  }
  /// Filled by the host. `is_read_only`: a kernel that writes to it fails.
  DeviceBuffer(std::string name, const std::vector<T>& values, bool is_read_only = true)
      : DeviceBuffer(values.size()) {
    if (!values.empty())
      std::memcpy(static_cast<void*>(data()), values.data(), values.size() * sizeof(T));
    add_region(std::move(name), is_read_only ? Region::Kind::kReadOnly : Region::Kind::kGlobal,
               data(), values.size() * sizeof(T), unit(), true);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { remove_region(data()); }

  T* data() { return reinterpret_cast<T*>(memory_.get()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.get()); }
  std::vector<T> values() const { return std::vector<T>(data(), data() + count_); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
  };
  explicit DeviceBuffer(size_t count)
      : count_(count),
        memory_(static_cast<std::byte*>(
            ::operator new[](count * sizeof(T) + 1, std::align_val_t{256}))) {}
  /// A workspace of floats may hold bfloat16 in part: two bytes are what threads share nothing of.
  static size_t unit() { return sizeof(T) == 1 ? 1 : 2; }

  size_t count_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace retro::simulator
