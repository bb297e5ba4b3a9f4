#include "retro/model/distance_cache.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include "retro/ops/relative_attention.h"

namespace retro {

DistanceCache::Table& DistanceCache::table_for(int64_t width, const at::Tensor& like) {
  for (Table& table : tables_) {
    const at::Tensor& features_XS = table.features_XS;
    if (features_XS.size(1) == width && features_XS.scalar_type() == like.scalar_type() &&
        features_XS.device() == like.device()) {
      return table;
    }
  }
  return tables_.emplace_back(
      Table{{}, distance_features(0, 0, width, like.scalar_type()).to(like.device())});
}

at::Tensor DistanceCache::features(const DistanceRange& range, int64_t width,
                                   const at::Tensor& like) {
  const std::lock_guard lock(mutex_);
  // A table first needed while sampling must serve training later: it is no inference tensor.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_gradients;
  Table& table = table_for(width, like);
  if (range.first < table.range.first || range.end() > table.range.end()) {
    const bool is_empty = table.range.count == 0;
    const int64_t first = is_empty ? range.first : std::min(range.first, table.range.first);
    const int64_t end = is_empty ? range.end() : std::max(range.end(), table.range.end());
    table.features_XS =
        distance_features(first, end - first, width, like.scalar_type()).to(like.device());
    table.range = {first, end - first};
  }
  return table.features_XS.narrow(0, range.first - table.range.first, range.count);
}

}  // namespace retro
