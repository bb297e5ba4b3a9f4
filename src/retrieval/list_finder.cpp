#include "list_finder.h"

#include <algorithm>

#include <faiss/impl/AuxIndexStructures.h>
#include <faiss/impl/DistanceComputer.h>
#include <faiss/utils/Heap.h>

#include "retro/core/error.h"
#include "retro/retrieval/exact_search.h"

namespace retro {
namespace {

/// Centroids kept in view while the graph is walked, at least: for each list that is wanted, four.
constexpr int64_t kViewPerList = 4;
constexpr int64_t kSmallestView = 64;

}  // namespace

ListFinder::ListFinder(std::vector<float> centroids, int64_t width)
    : faiss::Index(width), centroids_(std::move(centroids)) {
  ntotal = static_cast<idx_t>(centroids_.size()) / width;
}

ListFinder::ListFinder(std::unique_ptr<faiss::IndexHNSWFlat> graph)
    : faiss::Index(graph->d), graph_(std::move(graph)) {
  ntotal = graph_->ntotal;
}

void ListFinder::search(idx_t num_queries, const float* queries, idx_t k, float* distances,
                        idx_t* lists, const faiss::SearchParameters*) const {
  if (graph_) {
    for (idx_t x = 0; x < num_queries; ++x) {
      search_graph(queries + x * d, k, distances + x * k, lists + x * k);
    }
    return;
  }
  const auto num_results = static_cast<size_t>(num_queries * k);
  exact_search(centroids_, {queries, static_cast<size_t>(num_queries * d)}, d, k, {}, 1,
               {lists, num_results}, {distances, num_results});
}

void ListFinder::search_graph(const float* query, idx_t k, float* distances, idx_t* lists) const {
  faiss::VisitedTable visited(static_cast<int>(ntotal));
  const std::unique_ptr<faiss::DistanceComputer> computer(graph_->storage->get_distance_computer());
  computer->set_query(query);
  const auto count = static_cast<size_t>(k);
  faiss::maxheap_heapify(count, distances, lists);
  faiss::SearchParametersHNSW view;
  view.efSearch = static_cast<int>(std::max(kSmallestView, k * kViewPerList));
  graph_->hnsw.search(*computer, static_cast<int>(k), lists, distances, visited, &view);
  faiss::maxheap_reorder(count, distances, lists);
}

void ListFinder::add(idx_t, const float*) { throw Error("the lists of an index are fixed"); }

void ListFinder::reset() { throw Error("the lists of an index are fixed"); }

}  // namespace retro
