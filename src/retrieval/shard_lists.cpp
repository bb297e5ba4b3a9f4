#include "shard_lists.h"

#include <algorithm>
#include <array>

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>

#include "retro/core/error.h"
#include "retro/core/hash.h"

#include "faiss_support.h"
#include "index_format.h"
#include "squared_distance.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// The centroids, or the graph, of an index as trained by build_index; takes the graph out of it.
std::unique_ptr<ListFinder> finder_of(faiss::IndexIVF& index, const fs::path& path) {
  const bool has_all = index.quantizer->ntotal == static_cast<int64_t>(index.nlist);
  if (auto* graph = dynamic_cast<faiss::IndexHNSWFlat*>(index.quantizer); graph && has_all) {
    index.own_fields = false;
    return std::make_unique<ListFinder>(std::unique_ptr<faiss::IndexHNSWFlat>(graph));
  }
  const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index.quantizer);
  RETRO_CHECK(flat != nullptr && has_all, "{}: holds no plain list of centroids; {}", path.string(),
              index_format::kRebuild);
  return std::make_unique<ListFinder>(
      std::vector<float>(flat->get_xb(), flat->get_xb() + flat->ntotal * flat->d), flat->d);
}

/// Exact distances of candidates, from the stored keys.
class Reranker {
 public:
  explicit Reranker(const RetrievalDatabase& database)
      : database_(database), key_(static_cast<size_t>(database.key_width())) {}

  void add(std::span<const float> query, std::span<const int64_t> candidates,
           NearestList& nearest) {
    for (const int64_t id : candidates) {
      if (id == kMissing || !database_.is_live(id)) continue;
      database_.copy_keys(id, id + 1, key_);
      std::array<float, 1> distance{};
      squared_distances(query, key_, database_.key_width(), distance);
      nearest.add({distance[0], id});
    }
  }

 private:
  const RetrievalDatabase& database_;
  std::vector<float> key_;
};

size_t num_live(const RetrievalDatabase& database, std::span<const int64_t> candidates) {
  return static_cast<size_t>(std::ranges::count_if(
      candidates, [&](int64_t id) { return id != kMissing && database.is_live(id); }));
}

/// The lists gave all that was asked for, and some of it is deleted.
bool may_hold_more(const RetrievalDatabase& database, std::span<const int64_t> candidates) {
  return std::ranges::count(candidates, kMissing) == 0 &&
         num_live(database, candidates) < candidates.size();
}

/// Fetches twice as many, and so on, until as many live ones are among them as are wanted, or the
/// probed lists hold no more.
std::vector<int64_t> fetch_past_deleted(const RetrievalDatabase& database,
                                        const InvertedShard& shard,
                                        std::span<const float> list_query_Q,
                                        const ListSearch& what) {
  for (int64_t fetch = 2 * what.num_candidates;; fetch *= 2) {
    const int64_t most = std::min(fetch, shard.num_entries());
    std::vector<int64_t> candidates(static_cast<size_t>(most));
    shard.find_candidates(list_query_Q, most, what.num_probes, candidates);
    const bool has_all = most < fetch || std::ranges::count(candidates, kMissing) > 0;
    if (has_all || num_live(database, candidates) >= static_cast<size_t>(what.num_candidates)) {
      return candidates;
    }
  }
}

}  // namespace

void ShardLists::load_shard(const fs::path& path, const std::string& expected_hash) {
  RETRO_CHECK(hash_file(path) == expected_hash, "{}: the content does not match its hash; {}",
              path.string(), index_format::kRebuild);
  auto index = read_faiss_index(path, transform_.list_width());
  if (!finder_) finder_ = finder_of(*index, path);
  shards_.push_back(std::make_unique<InvertedShard>(std::move(index), *finder_));
}

std::vector<NearestList> ShardLists::search(const RetrievalDatabase& database,
                                            std::span<const float> queries_XQ,
                                            const ListSearch& what) const {
  const auto key_width = static_cast<size_t>(database.key_width());
  const size_t num_queries = queries_XQ.size() / key_width;
  const auto list_width = static_cast<size_t>(transform_.list_width());
  const auto list_queries_XQ = transform_.apply(queries_XQ, 1);
  std::vector<NearestList> nearest(num_queries, NearestList(what.k));
  Reranker reranker(database);
  for (const auto& shard : shards_) {
    const auto fetch = static_cast<size_t>(std::min(what.num_candidates, shard->num_entries()));
    std::vector<int64_t> candidates(num_queries * fetch);
    shard->find_candidates(list_queries_XQ, static_cast<int64_t>(fetch), what.num_probes,
                           candidates);
    for (size_t x = 0; x < num_queries; ++x) {
      std::span<const int64_t> own = std::span(candidates).subspan(x * fetch, fetch);
      std::vector<int64_t> more;
      if (what.has_deleted && may_hold_more(database, own)) {
        const auto list_query = std::span(list_queries_XQ).subspan(x * list_width, list_width);
        own = more = fetch_past_deleted(database, *shard, list_query, what);
      }
      reranker.add(queries_XQ.subspan(x * key_width, key_width), own, nearest[x]);
    }
  }
  return nearest;
}

}  // namespace retro
