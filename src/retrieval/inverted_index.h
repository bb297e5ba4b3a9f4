// The lists of an index in memory, one FAISS index a database shard, all with the same centroids.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQFastScan.h>

#include "list_finder.h"

namespace retro {

/// One shard's lists. Several threads may search.
class InvertedShard {
 public:
  /// `finder` must outlive it.
  InvertedShard(std::unique_ptr<faiss::IndexIVF> index, const ListFinder& finder);

  /// `count` candidates of each query by the index's own (rounded) distances, unordered, filled up
  /// with -1. One thread.
  void find_candidates(std::span<const float> queries_XQ, int64_t count, int64_t num_probes,
                       std::span<int64_t> ids_XC) const;
  int64_t num_entries() const { return index_->ntotal; }

 private:
  const faiss::IndexIVFPQFastScan& view(int64_t num_probes) const;
  void search_lists(const faiss::IndexIVF& index, std::span<const float> queries_XQ, int64_t count,
                    int64_t num_probes, int64_t* ids, float* distances) const;

  std::unique_ptr<faiss::IndexIVF> index_;
  const ListFinder& finder_;
  /// Fast-scan indexes of 1.7.3 refuse per-call parameters: one immutable view per num_probes
  /// shares the lists.
  mutable std::mutex views_mutex_;
  mutable std::map<int64_t, std::unique_ptr<faiss::IndexIVFPQFastScan>> views_;
};

}  // namespace retro
