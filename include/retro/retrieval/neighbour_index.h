// The FAISS index of a database: type by size, trained on a seeded sample, recall measured against
// exact search.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "retro/core/config.h"
#include "retro/retrieval/exact_search.h"
#include "retro/retrieval/retrieval_database.h"

namespace retro {

class NearestList;

struct IndexConfig {
  std::string type = "auto";    ///< auto | exact | ivf_flat | ivf_pq
  std::string coarse = "auto";  ///< how lists are found: auto | flat | hnsw
  int64_t num_lists = 0;        ///< 0: by size
  int64_t num_probes = 0;       ///< 0: tuned to target_recall
  double target_recall = 0.95;  ///< recall@10 against exact search on a sample
  /// ivf_pq: candidates re-ranked from the stored keys, times max(k, 20); 0: tuned.
  int64_t rerank_factor = 0;
  int64_t code_width = 0;  ///< ivf_pq: features of a four-bit code, 2 | 4 | 8; 0: 4, or as fits
  int64_t recall_queries = 500;  ///< 0: not measured; only where nothing is tuned by it
  void visit_fields(FieldVisitor& visit);
};

/// One row of the table that num_probes and rerank_factor were chosen from.
struct OperatingPoint {
  int64_t num_probes = 0;
  int64_t rerank_factor = 1;
  double recall_at_10 = 0;       ///< NaN where there was nothing to measure it on
  double recall_1_in_10 = 0;     ///< as above
  double seconds_per_query = 0;  ///< one thread, in batches
};

/// What was built and what it reaches; printed and stored beside the index. Recall is measured on
/// database keys (left out of training where there are enough), the chunks of the query's own
/// document left out on both sides.
struct IndexReport {
  std::string identity;  ///< hash of database version, config and seed
  std::string type;
  std::string reason;  ///< "exact: 12,345 chunks are at most 65,536"
  int64_t num_indexed = 0;
  int64_t num_lists = 0;
  bool has_graph = false;       ///< lists are found through HNSW
  int64_t code_width = 0;       ///< ivf_pq: features of a four-bit code
  bool has_rotation = false;    ///< ivf_pq: keys are rotated first (OPQ)
  int64_t training_points = 0;  ///< keys that centroids, rotation and codes were learnt from
  int64_t num_probes = 0;
  int64_t rerank_factor = 1;             ///< ivf_pq: candidates re-ranked, times max(k, 20)
  int64_t recall_queries = 0;            ///< sample the recall was measured on
  double recall_at_10 = 1.0;             ///< set overlap with the exact 10; NaN: not measured
  double recall_1_in_10 = 1.0;           ///< the exact nearest is among the 10 found; NaN likewise
  double seconds_per_query = 0.0;        ///< one thread, in batches
  double exact_seconds_per_query = 0.0;  ///< exact search of the same queries
  int64_t size_bytes = 0;                ///< of the index's own files
  std::vector<OperatingPoint> operating_points;
};

/// Several lines for a person: type, reason, size, both recalls, the table of operating points.
std::string format_report(const IndexReport& report);

/// "0.963", or "not measured" for NaN.
std::string format_recall(double recall);

/// Compressed lists: a smaller k has as many candidates as this one. A filtered search for ten asks
/// for so many.
inline constexpr int64_t kSmallestRerankedK = 20;

/// Per-call settings; nothing is kept in the index.
struct SearchParameters {
  int64_t num_probes = 0;  ///< 0: the tuned value
  int num_threads = 1;
  int64_t rerank_factor = 0;  ///< 0: the tuned value
};

/// Brute force over the stored keys of a database; chunks without a key and deleted ones are never
/// found. Otherwise as exact_search, with chunk ids for rows. `first_row`: keys before it are left
/// out.
void exact_database_search(const RetrievalDatabase& database, std::span<const float> queries_XQ,
                           int64_t k, const RowFilter& is_allowed, int num_threads,
                           std::span<int64_t> ids_XK, std::span<float> distances_XK,
                           int64_t first_row = 0);

/// Lists cover the first shards of the database; what was added since is scanned exactly, and what
/// was deleted is passed over, so that every answer is that of the database as opened.
class NeighbourIndex {
 public:
  /// Opens index and report, or DIRECTORY.next where a compaction was cut off between database and
  /// index. Refuses one whose shards are not the first ones of the database. The database must
  /// outlive it.
  NeighbourIndex(const RetrievalDatabase& database, const std::filesystem::path& directory);
  ~NeighbourIndex();
  NeighbourIndex(NeighbourIndex&&) noexcept;
  /// The same lists over another state of the database, without reading them again; nothing where
  /// they do not cover its first shards.
  std::optional<NeighbourIndex> over(const RetrievalDatabase& database) const;

  /// k nearest chunk ids of each query, sorted by (distance, id), filled with (-1, +inf). Distances
  /// are exact (re-ranked from the stored keys). Thread-safe; results do not depend on num_threads.
  void search(std::span<const float> queries_XQ, int64_t k, const SearchParameters& parameters,
              std::span<int64_t> ids_XK, std::span<float> distances_XK) const;
  const IndexReport& report() const { return report_; }
  bool is_exact() const { return report_.type == "exact"; }
  /// Shards of the database, from the first, that the lists hold.
  int64_t num_covered_shards() const { return num_covered_shards_; }
  const RetrievalDatabase& database() const { return *database_; }

 private:
  struct Impl;
  NeighbourIndex(const NeighbourIndex&);
  /// Scans what was added since the index was built.
  void add_rows_from(int64_t first_row, std::span<const float> queries_XQ, int64_t k,
                     std::vector<NearestList>& nearest) const;
  const RetrievalDatabase* database_;
  IndexReport report_;
  int64_t num_covered_shards_ = 0;
  std::shared_ptr<const Impl> impl_;
};

/// Chooses the type by size and the database's memory budget, trains (seeded sample, at most 256
/// points a list), fills, measures recall and time at many operating points, chooses the fastest
/// that reaches config.target_recall, prints the report and writes the index. Resumable by shard of
/// the database; equal inputs give equal lists for any number of threads (the report holds measured
/// times and the choice made by them). Throws Error for a budget that fits no index. Does nothing
/// where the same index is there.
IndexReport build_index(const RetrievalDatabase& database, const IndexConfig& config, uint64_t seed,
                        int num_threads, const std::filesystem::path& directory);

/// Bytes of the index's files in `directory` and, where a compaction was cut off before it put it
/// in place, of the new one.
uint64_t index_size_bytes(const std::filesystem::path& directory);

/// Recall and time as of now, additions and deletions included, on `num_queries` chunks of the
/// database.
OperatingPoint measure_recall(const NeighbourIndex& index, int64_t num_queries, uint64_t seed,
                              int num_threads);

}  // namespace retro
