// Which lists a key belongs to: the coarse quantiser of an index.
#pragma once

#include <memory>
#include <vector>

#include <faiss/IndexHNSW.h>

namespace retro {

/// Finds the nearest centroids, independently of which queries come together: by scanning all of
/// them, where FAISS's own quantiser takes another route (BLAS) for larger batches, or through a
/// graph (HNSW), which misses a few. Several threads may search.
class ListFinder final : public faiss::Index {
 public:
  /// Rows of the centroids.
  ListFinder(std::vector<float> centroids, int64_t width);
  /// The graph of an index, with its centroids.
  explicit ListFinder(std::unique_ptr<faiss::IndexHNSWFlat> graph);

  void search(idx_t num_queries, const float* queries, idx_t k, float* distances, idx_t* lists,
              const faiss::SearchParameters* parameters = nullptr) const override;
  void add(idx_t, const float*) override;
  void reset() override;

 private:
  void search_graph(const float* query, idx_t k, float* distances, idx_t* lists) const;

  std::vector<float> centroids_;
  std::unique_ptr<faiss::IndexHNSWFlat> graph_;
};

}  // namespace retro
