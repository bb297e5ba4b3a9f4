// Brute-force nearest neighbours: the yardstick of every index, and the index of small databases.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace retro {

/// May query number `query` be given key row `row`? Empty: always. Called from several threads at
/// once.
using RowFilter = std::function<bool(int64_t query, int64_t row)>;

/// Keys that need not be in memory as float32.
struct KeySource {
  int64_t num_rows = 0;
  int64_t width = 0;
  /// Writes rows [begin, end) as float32, row-major. Called from several threads at once.
  std::function<void(int64_t begin, int64_t end, std::span<float> keys)> read;
};

/// For each row of queries_XQ the `k` nearest rows of `keys` by squared L2, sorted by (distance,
/// row), filled up with (-1, +infinity). Distances are sums of squared differences in float32,
/// accurate to 1e-5 relative also for near-duplicates. Same bits for any thread count and any
/// grouping of queries. Streams: memory is a block of keys a thread.
void exact_search(const KeySource& keys, std::span<const float> queries_XQ, int64_t k,
                  const RowFilter& is_allowed, int num_threads, std::span<int64_t> ids_XK,
                  std::span<float> distances_XK);

/// The same over keys_CQ in memory.
void exact_search(std::span<const float> keys_CQ, std::span<const float> queries_XQ, int64_t width,
                  int64_t k, const RowFilter& is_allowed, int num_threads,
                  std::span<int64_t> ids_XK, std::span<float> distances_XK);

}  // namespace retro
