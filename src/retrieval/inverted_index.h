// The lists of an index in memory, one FAISS index a database shard, all with the same centroids.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQFastScan.h>

#include "retro/retrieval/neighbour_index.h"

namespace retro {

/// Keys are padded with zeros to this multiple for product quantisation; distances stay the same.
int64_t padded_width(const std::string& type, int64_t key_width);
/// Rows padded from `width` to `padded` features.
std::vector<float> pad_rows(std::span<const float> rows, int64_t width, int64_t padded);

/// Finds lists exactly and independently of which queries come together, where FAISS's own
/// quantiser takes another route (BLAS) for larger batches.
class ListFinder final : public faiss::Index {
 public:
  /// Rows of the centroids.
  ListFinder(std::vector<float> centroids, int64_t width);
  void search(idx_t num_queries, const float* queries, idx_t k, float* distances, idx_t* lists,
              const faiss::SearchParameters* parameters = nullptr) const override;
  void add(idx_t, const float*) override;
  void reset() override;

 private:
  std::vector<float> centroids_;
};

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
