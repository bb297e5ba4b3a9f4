// Approximate nearest neighbours among rows of an array file, for datastores that are no retrieval
// database.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "retro/core/array_file.h"

namespace retro {

struct VectorIndexConfig {
  int64_t num_lists = 0;    ///< 0: four times the square root of the rows
  int64_t num_probes = 32;  ///< lists looked at for a query
  int64_t code_width = 2;   ///< features of one 8-bit code; the row width must be a multiple
};

/// Inverted lists of product-quantised rows (FAISS). Below 4,096 rows nothing is quantised and
/// every distance is exact. Memory: width / code_width + 8 bytes a row; the rows stay in their
/// file.
class VectorIndex {
 public:
  /// Trains on a seeded sample and adds every row of `rows` (float32), which must outlive it.
  VectorIndex(const ArrayFile& rows, const VectorIndexConfig& config, uint64_t seed,
              int num_threads);
  ~VectorIndex();
  VectorIndex(VectorIndex&&) noexcept;

  /// The `k` nearest rows of each query by the index's own (rounded) squared L2, nearest first,
  /// filled up with (-1, +infinity).
  void search(std::span<const float> queries_XQ, int64_t k, std::span<int64_t> ids_XK,
              std::span<float> distances_XK, int num_threads) const;
  /// "ivf_pq, 512 lists, 32 probed, 64 codes of 8 bits", or "exact".
  const std::string& name() const { return name_; }
  bool is_exact() const { return impl_ == nullptr; }

 private:
  struct Impl;
  const ArrayFile* rows_;
  std::string name_;
  std::unique_ptr<Impl> impl_;
};

/// Exact squared L2 of each query to its candidates (-1: none), the `k` nearest of them by
/// (distance, id), filled up with (-1, +infinity).
void rerank(const ArrayFile& rows, std::span<const float> queries_XQ,
            std::span<const int64_t> candidates_XC, int64_t k, std::span<int64_t> ids_XK,
            std::span<float> distances_XK, int num_threads);

}  // namespace retro
