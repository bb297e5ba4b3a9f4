// Sinusoid features of distances, computed once for all layers of a model.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

namespace retro {

/// Distances first .. first + count - 1 of a relative table.
struct DistanceRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t end() const { return first + count; }
};

/// One table per width, type and device; it grows to cover every distance asked for. Thread-safe.
class DistanceCache {
 public:
  /// s(distance) of METHOD section 3, [count, width], in the type and on the device of `like`. A
  /// view of the table: not to be written to.
  at::Tensor features(const DistanceRange& range, int64_t width, const at::Tensor& like);

 private:
  struct Table {
    DistanceRange range;
    at::Tensor features_XS;
  };
  Table& table_for(int64_t width, const at::Tensor& like);
  std::mutex mutex_;
  std::vector<Table> tables_;
};

}  // namespace retro
