#include "inverted_index.h"

#include <algorithm>

#include <faiss/IndexFlat.h>

#include "retro/core/error.h"
#include "retro/retrieval/exact_search.h"

#include "faiss_support.h"

namespace retro {
namespace {

/// Features of one product-quantised part.
constexpr int64_t kPartWidth = 4;

}  // namespace

int64_t padded_width(const std::string& type, int64_t key_width) {
  if (type != "ivf_pq") return key_width;
  return (key_width + kPartWidth - 1) / kPartWidth * kPartWidth;
}

std::vector<float> pad_rows(std::span<const float> rows, int64_t width, int64_t padded) {
  if (padded == width) return {rows.begin(), rows.end()};
  const auto num_rows = static_cast<int64_t>(rows.size()) / width;
  std::vector<float> result(static_cast<size_t>(num_rows * padded));
  for (int64_t row = 0; row < num_rows; ++row) {
    std::copy_n(rows.begin() + row * width, width, result.begin() + row * padded);
  }
  return result;
}

ListFinder::ListFinder(std::vector<float> centroids, int64_t width)
    : faiss::Index(width), centroids_(std::move(centroids)) {
  ntotal = static_cast<idx_t>(centroids_.size()) / width;
}

void ListFinder::search(idx_t num_queries, const float* queries, idx_t k, float* distances,
                        idx_t* lists, const faiss::SearchParameters*) const {
  const auto num_results = static_cast<size_t>(num_queries * k);
  exact_search(centroids_, {queries, static_cast<size_t>(num_queries * d)}, d, k, {}, 1,
               {lists, num_results}, {distances, num_results});
}

void ListFinder::add(idx_t, const float*) { throw Error("the lists of an index are fixed"); }

void ListFinder::reset() { throw Error("the lists of an index are fixed"); }

InvertedShard::InvertedShard(std::unique_ptr<faiss::IndexIVF> index, const ListFinder& finder)
    : index_(std::move(index)), finder_(finder) {}

const faiss::IndexIVFPQFastScan& InvertedShard::view(int64_t num_probes) const {
  const std::lock_guard lock(views_mutex_);
  auto& view = views_[num_probes];
  if (!view) {
    const auto& original = dynamic_cast<const faiss::IndexIVFPQFastScan&>(*index_);
    view = std::make_unique<faiss::IndexIVFPQFastScan>(original);
    view->own_invlists = false;
    view->own_fields = false;
    // FAISS only reads it; its field is not const.
    view->quantizer = const_cast<ListFinder*>(&finder_);
    view->nprobe = static_cast<size_t>(num_probes);
  }
  return *view;
}

void InvertedShard::search_lists(const faiss::IndexIVF& index, std::span<const float> queries_XQ,
                                 int64_t count, int64_t num_probes, int64_t* ids,
                                 float* distances) const {
  const int64_t num_queries = static_cast<int64_t>(queries_XQ.size()) / index.d;
  const auto num_lists = static_cast<size_t>(num_queries * num_probes);
  std::vector<int64_t> lists(num_lists);
  std::vector<float> list_distances(num_lists);
  finder_.search(num_queries, queries_XQ.data(), num_probes, list_distances.data(), lists.data());
  faiss::SearchParametersIVF parameters;
  parameters.nprobe = static_cast<size_t>(num_probes);
  index.search_preassigned(num_queries, queries_XQ.data(), count, lists.data(),
                           list_distances.data(), distances, ids, false, &parameters);
}

void InvertedShard::find_candidates(std::span<const float> queries_XQ, int64_t count,
                                    int64_t num_probes, std::span<int64_t> ids_XC) const {
  if (ids_XC.empty()) return;
  const int64_t num_queries = static_cast<int64_t>(queries_XQ.size()) / index_->d;
  std::vector<float> distances(ids_XC.size());
  const OpenMpThreads one_thread(1);
  call_faiss("searching the index", [&] {
    if (dynamic_cast<const faiss::IndexIVFPQFastScan*>(index_.get()) != nullptr) {
      view(num_probes)
          .search(num_queries, queries_XQ.data(), count, distances.data(), ids_XC.data());
    } else {
      search_lists(*index_, queries_XQ, count, num_probes, ids_XC.data(), distances.data());
    }
  });
}

}  // namespace retro
