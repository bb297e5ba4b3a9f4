#include "retro/retrieval/neighbour_index.h"

#include <algorithm>

#include "retro/core/error.h"
#include "retro/core/parallel.h"

#include "index_format.h"
#include "nearest_list.h"
#include "shard_lists.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// Queries a thread takes at once; fixed, so that the thread count changes nothing.
constexpr int64_t kQueryBlock = 256;
/// Uncompressed lists: FAISS's distances can differ from ours in the last bits, so a few more than
/// k are re-ranked.
constexpr int64_t kSpareCandidates = 8;
int64_t num_candidates(const IndexReport& report, const SearchParameters& parameters, int64_t k) {
  if (report.type != "ivf_pq") return k + kSpareCandidates;
  const int64_t factor =
      parameters.rerank_factor > 0 ? parameters.rerank_factor : report.rerank_factor;
  return std::max(k, kSmallestRerankedK) * factor;
}

}  // namespace

void IndexConfig::visit_fields(FieldVisitor& visit) {
  visit.choice("type", type, {"auto", "exact", "ivf_flat", "ivf_pq"}, "index type; auto: by size");
  visit.choice(
      "coarse", coarse, {"auto", "flat", "hnsw"},
      "how lists are found: scan of the centroids or graph; auto: graph from 16,384 lists");
  visit("num_lists", num_lists, "lists of an inverted file; 0: by size");
  visit("num_probes", num_probes, "lists read per query; 0: tuned to target_recall");
  visit("target_recall", target_recall,
        "recall@10 against exact search that num_probes and rerank_factor are tuned to");
  visit("rerank_factor", rerank_factor,
        "ivf_pq: candidates re-ranked from the stored keys, times k (at least 20); 0: tuned");
  visit("code_width", code_width,
        "ivf_pq: features of a four-bit code (2, 4 or 8); 0: 4, or 8 where memory asks for it");
  visit("recall_queries", recall_queries, "chunks on which recall is measured");
}

void exact_database_search(const RetrievalDatabase& database, std::span<const float> queries_XQ,
                           int64_t k, const RowFilter& is_allowed, int num_threads,
                           std::span<int64_t> ids_XK, std::span<float> distances_XK,
                           int64_t first_row) {
  const KeySource keys{database.num_rows() - first_row, database.key_width(),
                       [&](int64_t begin, int64_t end, std::span<float> rows) {
                         database.copy_row_keys(first_row + begin, first_row + end, rows);
                       }};
  const auto may_see = [&](int64_t query, int64_t row) {
    return database.row_has_key(first_row + row) &&
           (!is_allowed || is_allowed(query, database.chunk_of_row(first_row + row)));
  };
  exact_search(keys, queries_XQ, k, may_see, num_threads, ids_XK, distances_XK);
  for (int64_t& id : ids_XK) {
    if (id != kMissing) id = database.chunk_of_row(first_row + id);
  }
}

struct NeighbourIndex::Impl {
  index_format::Manifest manifest;
  ShardLists lists;
};

namespace {

/// DIRECTORY, or DIRECTORY.next where that one fits the database.
std::pair<fs::path, index_format::Manifest> find_index(const RetrievalDatabase& database,
                                                       const fs::path& directory) {
  const fs::path next = index_format::next_directory(directory);
  if (fs::exists(next / index_format::kManifest)) {
    index_format::Manifest manifest = index_format::read_manifest(next);
    if (num_covered_shards(manifest, database) >= 0) return {next, std::move(manifest)};
  }
  index_format::Manifest manifest = index_format::read_manifest(directory);
  RETRO_CHECK(num_covered_shards(manifest, database) >= 0,
              "{}: the index belongs to database version {}, the database {} has version {}; {}",
              directory.string(), manifest.database_version, database.directory().string(),
              database.version(), index_format::kRebuild);
  return {directory, std::move(manifest)};
}

}  // namespace

NeighbourIndex::NeighbourIndex(const RetrievalDatabase& database, const fs::path& directory)
    : database_(&database) {
  auto [found, manifest] = find_index(database, directory);
  report_ = manifest.report;
  num_covered_shards_ = index_format::num_covered_shards(manifest, database);
  ShardLists lists(index_format::read_transform(found, manifest, database.key_width()));
  for (const index_format::ShardFile& shard : manifest.shards) {
    lists.load_shard(found / shard.name, shard.hash);
  }
  RETRO_CHECK(is_exact() || !lists.is_empty(), "{}: has no lists; {}", found.string(),
              index_format::kRebuild);
  impl_ = std::make_shared<Impl>(Impl{std::move(manifest), std::move(lists)});
}

std::optional<NeighbourIndex> NeighbourIndex::over(const RetrievalDatabase& database) const {
  const int64_t num_covered = index_format::num_covered_shards(impl_->manifest, database);
  if (num_covered < 0) return std::nullopt;
  NeighbourIndex index(*this);
  index.database_ = &database;
  index.num_covered_shards_ = num_covered;
  return index;
}

NeighbourIndex::~NeighbourIndex() = default;
NeighbourIndex::NeighbourIndex(NeighbourIndex&&) noexcept = default;
NeighbourIndex::NeighbourIndex(const NeighbourIndex&) = default;

void NeighbourIndex::add_rows_from(int64_t first_row, std::span<const float> queries_XQ, int64_t k,
                                   std::vector<NearestList>& nearest) const {
  std::vector<int64_t> ids(nearest.size() * static_cast<size_t>(k));
  std::vector<float> distances(ids.size());
  exact_database_search(*database_, queries_XQ, k, {}, 1, ids, distances, first_row);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != kMissing) nearest[i / static_cast<size_t>(k)].add({distances[i], ids[i]});
  }
}

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
                        .num_candidates = num_candidates(report_, parameters, k),
                        .has_deleted = database_->num_live_chunks() < database_->num_rows()};
  const int64_t first_added = database_->shard_first_row(num_covered_shards_);
  const auto row_length = static_cast<size_t>(k);
  const auto search_block = [&](int64_t begin, int64_t end) {
    const auto queries = queries_XQ.subspan(static_cast<size_t>(begin * width),
                                            static_cast<size_t>((end - begin) * width));
    auto row = static_cast<size_t>(begin) * row_length;
    std::vector<NearestList> found = impl_->lists.search(*database_, queries, what);
    if (first_added < database_->num_rows()) add_rows_from(first_added, queries, k, found);
    for (NearestList& nearest : found) {
      nearest.write_sorted(ids_XK.subspan(row, row_length), distances_XK.subspan(row, row_length));
      row += row_length;
    }
  };
  if (k > 0) {
    parallel_for(num_queries, std::max(1, parameters.num_threads), search_block, kQueryBlock);
  }
}

}  // namespace retro
