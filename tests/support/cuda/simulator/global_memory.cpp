#include "simulator/global_memory.h"

#include <map>

namespace retro::simulator {

namespace {

/// By first byte. Never destroyed: tensors of other static objects may outlive it.
using Regions = std::map<const std::byte*, std::unique_ptr<Region>>;
Regions& regions() {
  static auto* const all = new Regions;
  return *all;
}

}  // namespace

Region* region_of(const void* pointer) {
  if (pointer == nullptr) return nullptr;
  const auto* const byte = static_cast<const std::byte*>(pointer);
  auto next = regions().upper_bound(byte);
  if (next != regions().begin()) {
    Region* const region = std::prev(next)->second.get();
    if (region->contains(pointer) || region->begin() == byte) return region;
  }
  throw SimulatorError("a kernel was handed a pointer that no buffer holds");
}

Region* add_region(std::string name, Region::Kind kind, const void* data, size_t bytes,
                   size_t unit_bytes, bool is_initialised) {
  auto region =
      std::make_unique<Region>(std::move(name), kind, data, bytes, unit_bytes, is_initialised);
  return (regions()[static_cast<const std::byte*>(data)] = std::move(region)).get();
}

void remove_region(const void* data) { regions().erase(static_cast<const std::byte*>(data)); }

void mark_written(const void* pointer, size_t bytes) {
  region_of(pointer)->mark_written(pointer, bytes);
}

}  // namespace retro::simulator
