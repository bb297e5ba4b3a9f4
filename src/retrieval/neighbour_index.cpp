#include "retro/retrieval/neighbour_index.h"

#include <algorithm>
#include <array>

#include <faiss/IndexFlat.h>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/parallel.h"

#include "faiss_support.h"
#include "index_format.h"
#include "inverted_index.h"
#include "nearest_list.h"
#include "squared_distance.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// Queries a thread takes at once; fixed, so that the thread count changes nothing.
constexpr int64_t kQueryBlock = 256;
/// Uncompressed lists: FAISS's distances can differ from ours in the last bits, so a few more than
/// k are re-ranked.
constexpr int64_t kSpareCandidates = 8;
/// Compressed lists: so many are re-ranked for any small k; reading their keys takes some 20 us.
constexpr int64_t kFewestCandidates = 100;

int64_t num_candidates(const IndexReport& report, int64_t k) {
  if (report.type != "ivf_pq") return k + kSpareCandidates;
  return std::max(k * report.rerank_factor, kFewestCandidates);
}

/// The centroids of an index as trained by build_index.
std::vector<float> centroids_of(const faiss::IndexIVF& index, const fs::path& path) {
  const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index.quantizer);
  RETRO_CHECK(flat != nullptr && flat->ntotal == static_cast<int64_t>(index.nlist),
              "{}: holds no plain list of centroids; {}", path.string(), index_format::kRebuild);
  return {flat->get_xb(), flat->get_xb() + flat->ntotal * flat->d};
}

}  // namespace

void IndexConfig::visit_fields(FieldVisitor& visit) {
  visit.choice("type", type, {"auto", "exact", "ivf_flat", "ivf_pq"}, "index type; auto: by size");
  visit("num_lists", num_lists, "lists of an inverted file; 0: by size");
  visit("num_probes", num_probes, "lists read per query; 0: tuned to target_recall");
  visit("target_recall", target_recall,
        "recall@10 against exact search that num_probes is tuned to");
  visit("rerank_factor", rerank_factor,
        "ivf_pq: candidates re-ranked from the stored keys, times k (at least 100)");
  visit("recall_queries", recall_queries, "chunks on which recall is measured");
}

void exact_database_search(const RetrievalDatabase& database, std::span<const float> queries_XQ,
                           int64_t k, const RowFilter& is_allowed, int num_threads,
                           std::span<int64_t> ids_XK, std::span<float> distances_XK) {
  const KeySource keys{database.num_chunks(), database.key_width(),
                       [&](int64_t begin, int64_t end, std::span<float> rows) {
                         database.copy_keys(begin, end, rows);
                       }};
  const auto may_see = [&](int64_t query, int64_t chunk_id) {
    return database.has_key(chunk_id) && (!is_allowed || is_allowed(query, chunk_id));
  };
  exact_search(keys, queries_XQ, k, may_see, num_threads, ids_XK, distances_XK);
}

namespace {

/// Exact distances of candidates, from the stored keys.
class Reranker {
 public:
  explicit Reranker(const RetrievalDatabase& database)
      : database_(database), key_(static_cast<size_t>(database.key_width())) {}

  void add(std::span<const float> query, std::span<const int64_t> candidates,
           NearestList& nearest) {
    for (const int64_t id : candidates) {
      if (id == kMissing) continue;
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

/// What one search asks of every shard.
struct ListSearch {
  int64_t k = 0;
  int64_t num_probes = 0;
  int64_t num_candidates = 0;  ///< of a query and shard, to be re-ranked
};

}  // namespace

struct NeighbourIndex::Impl {
  int64_t width = 0;  ///< of the lists: key width, padded
  std::unique_ptr<ListFinder> finder;
  std::vector<std::unique_ptr<InvertedShard>> shards;

  void load_shard(const fs::path& path, const std::string& expected_hash) {
    RETRO_CHECK(hash_file(path) == expected_hash, "{}: the content does not match its hash; {}",
                path.string(), index_format::kRebuild);
    auto index = read_faiss_index(path, width);
    if (!finder) finder = std::make_unique<ListFinder>(centroids_of(*index, path), width);
    shards.push_back(std::make_unique<InvertedShard>(std::move(index), *finder));
  }

  /// The k nearest of each query, in one thread.
  std::vector<NearestList> search(const RetrievalDatabase& database,
                                  std::span<const float> queries_XQ, const ListSearch& what) const {
    const auto key_width = static_cast<size_t>(database.key_width());
    const size_t num_queries = queries_XQ.size() / key_width;
    const auto padded_XQ = pad_rows(queries_XQ, database.key_width(), width);
    std::vector<NearestList> nearest(num_queries, NearestList(what.k));
    Reranker reranker(database);
    for (const auto& shard : shards) {
      const auto fetch = static_cast<size_t>(std::min(what.num_candidates, shard->num_entries()));
      std::vector<int64_t> candidates(num_queries * fetch);
      shard->find_candidates(padded_XQ, static_cast<int64_t>(fetch), what.num_probes, candidates);
      for (size_t x = 0; x < num_queries; ++x) {
        reranker.add(queries_XQ.subspan(x * key_width, key_width),
                     std::span(candidates).subspan(x * fetch, fetch), nearest[x]);
      }
    }
    return nearest;
  }
};

NeighbourIndex::NeighbourIndex(const RetrievalDatabase& database, const fs::path& directory)
    : database_(&database), impl_(std::make_unique<Impl>()) {
  index_format::Manifest manifest = index_format::read_manifest(directory);
  RETRO_CHECK(manifest.database_version == database.version(),
              "{}: the index belongs to database version {}, the database {} has version {}; {}",
              directory.string(), manifest.database_version, database.directory().string(),
              database.version(), index_format::kRebuild);
  report_ = std::move(manifest.report);
  impl_->width = padded_width(report_.type, database.key_width());
  for (const index_format::ShardFile& shard : manifest.shards) {
    impl_->load_shard(directory / shard.name, shard.hash);
  }
  RETRO_CHECK(is_exact() || !impl_->shards.empty(), "{}: has no lists; {}", directory.string(),
              index_format::kRebuild);
}

NeighbourIndex::~NeighbourIndex() = default;
NeighbourIndex::NeighbourIndex(NeighbourIndex&&) noexcept = default;

void NeighbourIndex::search(std::span<const float> queries_XQ, int64_t k,
                            const SearchParameters& parameters, std::span<int64_t> ids_XK,
                            std::span<float> distances_XK) const {
  const int64_t width = database_->key_width();
  const int64_t num_queries = static_cast<int64_t>(queries_XQ.size()) / width;
  RETRO_CHECK(k >= 0 && static_cast<int64_t>(queries_XQ.size()) == num_queries * width &&
                  static_cast<int64_t>(ids_XK.size()) == num_queries * k &&
                  distances_XK.size() == ids_XK.size(),
              "index search: {} query values of width {} and k {} do not fit {} ids and {} "
              "distances",
              queries_XQ.size(), width, k, ids_XK.size(), distances_XK.size());
  if (is_exact()) {
    exact_database_search(*database_, queries_XQ, k, {}, parameters.num_threads, ids_XK,
                          distances_XK);
    return;
  }
  const int64_t wanted_probes =
      parameters.num_probes > 0 ? parameters.num_probes : report_.num_probes;
  const ListSearch what{.k = k,
                        .num_probes = std::clamp<int64_t>(wanted_probes, 1, report_.num_lists),
                        .num_candidates = num_candidates(report_, k)};
  const auto row_length = static_cast<size_t>(k);
  const auto search_block = [&](int64_t begin, int64_t end) {
    const auto queries = queries_XQ.subspan(static_cast<size_t>(begin * width),
                                            static_cast<size_t>((end - begin) * width));
    auto row = static_cast<size_t>(begin) * row_length;
    for (NearestList& nearest : impl_->search(*database_, queries, what)) {
      nearest.write_sorted(ids_XK.subspan(row, row_length), distances_XK.subspan(row, row_length));
      row += row_length;
    }
  };
  if (k > 0) {
    parallel_for(num_queries, std::max(1, parameters.num_threads), search_block, kQueryBlock);
  }
}

}  // namespace retro
