#include "simulator/global_memory.h"

#include <algorithm>

namespace retro::simulator {

namespace {

std::vector<std::unique_ptr<Region>>& regions() {
  static std::vector<std::unique_ptr<Region>> list;
  return list;
}

}  // namespace

Region* region_of(const void* pointer) {
  if (pointer == nullptr) return nullptr;
  for (const auto& region : regions()) {
    if (region->contains(pointer) || region->begin() == pointer) return region.get();
  }
  throw SimulatorError("a kernel was handed a pointer that no buffer holds");
}

Region* add_region(std::string name, Region::Kind kind, const void* data, size_t bytes,
                   size_t unit_bytes, bool is_initialised) {
  regions().push_back(
      std::make_unique<Region>(std::move(name), kind, data, bytes, unit_bytes, is_initialised));
  return regions().back().get();
}

void remove_region(const void* data) {
  std::erase_if(regions(), [&](const auto& region) { return region->begin() == data; });
}

void mark_written(const void* pointer, size_t bytes) {
  region_of(pointer)->mark_written(pointer, bytes);
}

}  // namespace retro::simulator
