#include "inverted_index.h"

#include <vector>

#include "faiss_support.h"

namespace retro {

InvertedShard::InvertedShard(std::unique_ptr<faiss::IndexIVF> index, const ListFinder& finder)
    : index_(std::move(index)), finder_(finder) {
  // Every shard was written with its own copy of the centroids.
  if (index_->own_fields) delete index_->quantizer;
  index_->own_fields = false;
  // FAISS only reads it; its field is not const.
  index_->quantizer = const_cast<ListFinder*>(&finder_);
}

const faiss::IndexIVFPQFastScan& InvertedShard::view(int64_t num_probes) const {
  const std::lock_guard lock(views_mutex_);
  auto& view = views_[num_probes];
  if (!view) {
    const auto& original = dynamic_cast<const faiss::IndexIVFPQFastScan&>(*index_);
    view = std::make_unique<faiss::IndexIVFPQFastScan>(original);
    view->own_invlists = false;
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
