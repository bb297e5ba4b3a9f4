// What a neighbour id stands for: its value [N, F] (METHOD section 2).
#pragma once

#include <cstdint>
#include <span>

namespace retro {

/// Padding of a value, and the id of a missing neighbour.
inline constexpr int64_t kMissing = -1;

class ChunkValues {
 public:
  virtual ~ChunkValues() = default;
  /// m; a value has r = 2m tokens.
  virtual int64_t chunk_length() const = 0;
  /// Writes the value of `chunk_id`: N in [0, m), F in [m, 2m), each filled up with -1. kMissing
  /// gives all -1.
  virtual void copy_value(int64_t chunk_id, std::span<int32_t> value_R) const = 0;
};

}  // namespace retro
