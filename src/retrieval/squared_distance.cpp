#include "squared_distance.h"

#include <cassert>

#include "squared_distance_tile.h"

namespace retro {
namespace {

/// 2 x 2 sums of two registers each, their operands and differences: what 16 registers hold.
void squared_distances_baseline(const float* queries_XQ, int64_t num_queries, const float* keys_CQ,
                                int64_t num_keys, int64_t width, float* distances_XC) {
  distance_grid<8, 2, 3>(queries_XQ, num_queries, keys_CQ, num_keys, width, distances_XC);
}

SquaredDistanceFunction fastest_function() {
  return __builtin_cpu_supports("avx512f") ? squared_distances_avx512 : squared_distances_baseline;
}

}  // namespace

void squared_distances(std::span<const float> queries_XQ, std::span<const float> keys_CQ,
                       int64_t width, std::span<float> distances_XC) {
  static const SquaredDistanceFunction function = fastest_function();
  const auto num_queries = static_cast<int64_t>(queries_XQ.size()) / width;
  const auto num_keys = static_cast<int64_t>(keys_CQ.size()) / width;
  assert(static_cast<int64_t>(distances_XC.size()) >= num_queries * num_keys);
  function(queries_XQ.data(), num_queries, keys_CQ.data(), num_keys, width, distances_XC.data());
}

}  // namespace retro
