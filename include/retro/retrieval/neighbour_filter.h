// Which database chunks a query may see: over-fetch, filter, then cut to k (METHOD section 2.4).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "retro/retrieval/neighbour_index.h"

namespace retro {

/// "none" (leaked control), "document" (same source and id), "group" (any version of the same
/// work).
enum class Exclusion { kNone, kDocument, kGroup };
/// Throws Error for any other name.
Exclusion parse_exclusion(const std::string& name);
std::string exclusion_name(Exclusion exclusion);

/// Who asks: what its own document is. document: database document index or -1 (not in the
/// database).
struct QueryOrigin {
  int64_t document = -1;
  int64_t group = -1;  ///< database group number, or -1
};

/// Group numbers of a database's documents, and origins of corpus documents.
class OriginTable {
 public:
  explicit OriginTable(const RetrievalDatabase& database);
  QueryOrigin origin(const DocumentInfo& document) const;
  bool is_allowed(const QueryOrigin& origin, int64_t chunk_id, Exclusion exclusion) const;

 private:
  const RetrievalDatabase* database_;
  std::vector<int64_t> group_of_document_;
  std::vector<std::pair<std::string, int64_t>> group_names_;  ///< sorted
};

/// 1 for the documents of a share of the database: those whose name (source and id) hashes below
/// it, so that a larger share holds a smaller one whole. `fraction` in (0, 1].
std::vector<uint8_t> documents_of_fraction(const RetrievalDatabase& database, double fraction);

/// May query number `query` be given this chunk? Called from several threads at once.
using ChunkFilter = std::function<bool(int64_t query, int64_t chunk_id)>;

/// The k nearest chunks of each query that `is_allowed` passes, sorted by (distance, id), filled up
/// with (-1, +inf). An exact index filters as it scans. Others fetch 2k from the probed lists, then
/// 4k from twice as many lists, and so on, until a query has its k or has seen everything; what is
/// still short when a quarter of the database would be fetched is scanned exactly. A query's result
/// does not depend on the other queries.
void search_allowed(const NeighbourIndex& index, std::span<const float> queries_XQ, int64_t k,
                    const ChunkFilter& is_allowed, const SearchParameters& parameters,
                    std::span<int64_t> ids_XK, std::span<float> distances_XK);

/// index.search, but fewer than k come back only where the database has no more live chunks: a
/// query whose lists hold too few (what was there is deleted) is searched again as by
/// search_allowed.
void search_until_found(const NeighbourIndex& index, std::span<const float> queries_XQ, int64_t k,
                        const SearchParameters& parameters, std::span<int64_t> ids_XK,
                        std::span<float> distances_XK);

/// search_allowed with the chunks of each query's own document (or group) left out. `query_origins`
/// has one entry a query.
void filtered_search(const NeighbourIndex& index, const OriginTable& origins,
                     std::span<const float> queries_XQ, std::span<const QueryOrigin> query_origins,
                     Exclusion exclusion, int64_t k, const SearchParameters& parameters,
                     std::span<int64_t> ids_XK, std::span<float> distances_XK);

}  // namespace retro
