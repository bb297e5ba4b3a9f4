#include "retro/retrieval/neighbour_filter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/hash.h"

namespace retro {
namespace {

/// Candidates held at once while over-fetching (16 bytes each).
constexpr int64_t kMostCandidates = int64_t{1} << 20;

/// Over-fetching of one batch: `pending` are the queries that still lack neighbours.
class OverfetchSearch {
 public:
  OverfetchSearch(const NeighbourIndex& index, std::span<const float> queries_XQ, int64_t k,
                  const ChunkFilter& is_allowed, std::span<int64_t> ids_XK,
                  std::span<float> distances_XK)
      : index_(index),
        queries_XQ_(queries_XQ),
        k_(k),
        is_allowed_(is_allowed),
        ids_XK_(ids_XK),
        distances_XK_(distances_XK) {}

  void run(SearchParameters parameters, std::vector<int64_t> pending) {
    const IndexReport& report = index_.report();
    if (parameters.num_probes == 0) parameters.num_probes = report.num_probes;
    int64_t fetch = 2 * k_;
    // Every pending query takes the same steps, so that none depends on its company.
    for (; !pending.empty() && fetch < report.num_indexed / 4; fetch *= 2) {
      parameters.num_probes = std::min(parameters.num_probes, report.num_lists);
      pending = search_round(pending, fetch, parameters);
      parameters.num_probes *= 2;
    }
    if (!pending.empty()) scan_exactly(pending, parameters.num_threads);
  }

 private:
  std::vector<int64_t> search_round(const std::vector<int64_t>& pending, int64_t fetch,
                                    const SearchParameters& parameters) {
    std::vector<int64_t> still_pending;
    const auto batch = static_cast<size_t>(std::max<int64_t>(1, kMostCandidates / fetch));
    for (size_t first = 0; first < pending.size(); first += batch) {
      const auto part = std::span(pending).subspan(first, std::min(batch, pending.size() - first));
      search_part(part, fetch, parameters, still_pending);
    }
    return still_pending;
  }

  void search_part(std::span<const int64_t> part, int64_t fetch, const SearchParameters& parameters,
                   std::vector<int64_t>& still_pending) {
    const std::vector<float> queries = gather(part);
    const auto width = static_cast<size_t>(fetch);
    std::vector<int64_t> ids(part.size() * width);
    std::vector<float> distances(part.size() * width);
    index_.search(queries, fetch, parameters, ids, distances);
    const bool has_seen_all_lists = parameters.num_probes >= index_.report().num_lists;
    for (size_t i = 0; i < part.size(); ++i) {
      const auto found = std::span(ids).subspan(i * width, width);
      const int64_t kept =
          keep_allowed(part[i], found, std::span(distances).subspan(i * width, width));
      const bool is_exhausted = has_seen_all_lists && found.back() == kMissing;
      if (kept < k_ && !is_exhausted) still_pending.push_back(part[i]);
    }
  }

  std::vector<float> gather(std::span<const int64_t> queries) const {
    const auto width = static_cast<size_t>(index_.database().key_width());
    std::vector<float> rows;
    rows.reserve(queries.size() * width);
    for (const int64_t x : queries) {
      const auto row = queries_XQ_.subspan(static_cast<size_t>(x) * width, width);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

  /// Writes the first k allowed candidates of query `x`; returns how many there are.
  int64_t keep_allowed(int64_t x, std::span<const int64_t> found,
                       std::span<const float> distances) {
    const auto row = static_cast<size_t>(x * k_);
    int64_t kept = 0;
    for (size_t i = 0; i < found.size() && kept < k_ && found[i] != kMissing; ++i) {
      if (!is_allowed_(x, found[i])) continue;
      ids_XK_[row + static_cast<size_t>(kept)] = found[i];
      distances_XK_[row + static_cast<size_t>(kept)] = distances[i];
      ++kept;
    }
    for (auto i = static_cast<size_t>(kept); i < static_cast<size_t>(k_); ++i) {
      ids_XK_[row + i] = kMissing;
      distances_XK_[row + i] = std::numeric_limits<float>::infinity();
    }
    return kept;
  }

  void scan_exactly(const std::vector<int64_t>& pending, int num_threads) {
    const auto row_length = static_cast<size_t>(k_);
    std::vector<int64_t> ids(pending.size() * row_length);
    std::vector<float> distances(pending.size() * row_length);
    const auto is_allowed = [&](int64_t query, int64_t chunk_id) {
      return is_allowed_(pending[static_cast<size_t>(query)], chunk_id);
    };
    exact_database_search(index_.database(), gather(pending), k_, is_allowed, num_threads, ids,
                          distances);
    for (size_t i = 0; i < pending.size(); ++i) {
      const size_t row = static_cast<size_t>(pending[i]) * row_length;
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(i * row_length), row_length,
                  ids_XK_.begin() + static_cast<std::ptrdiff_t>(row));
      std::copy_n(distances.begin() + static_cast<std::ptrdiff_t>(i * row_length), row_length,
                  distances_XK_.begin() + static_cast<std::ptrdiff_t>(row));
    }
  }

  const NeighbourIndex& index_;
  std::span<const float> queries_XQ_;
  int64_t k_;
  const ChunkFilter& is_allowed_;
  std::span<int64_t> ids_XK_;
  std::span<float> distances_XK_;
};

}  // namespace

Exclusion parse_exclusion(const std::string& name) {
  if (name == "none") return Exclusion::kNone;
  if (name == "document") return Exclusion::kDocument;
  RETRO_CHECK(name == "group", "exclude is `{}`, expected none, document or group", name);
  return Exclusion::kGroup;
}

std::string exclusion_name(Exclusion exclusion) {
  switch (exclusion) {
    case Exclusion::kNone:
      return "none";
    case Exclusion::kDocument:
      return "document";
    case Exclusion::kGroup:
      return "group";
  }
  return "unknown";
}

OriginTable::OriginTable(const RetrievalDatabase& database) : database_(&database) {
  std::map<std::string_view, int64_t> number_of;
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    number_of.emplace(database.document(d).group, 0);
  }
  for (auto& [name, number] : number_of) {
    number = static_cast<int64_t>(group_names_.size());
    group_names_.emplace_back(name, number);
  }
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    group_of_document_.push_back(number_of.at(database.document(d).group));
  }
}

QueryOrigin OriginTable::origin(const DocumentInfo& document) const {
  QueryOrigin origin;
  origin.document = database_->find_document(document.source, document.id);
  const auto found = std::ranges::lower_bound(group_names_, document.group, {},
                                              &std::pair<std::string, int64_t>::first);
  if (found != group_names_.end() && found->first == document.group) origin.group = found->second;
  return origin;
}

bool OriginTable::is_allowed(const QueryOrigin& origin, int64_t chunk_id,
                             Exclusion exclusion) const {
  if (exclusion == Exclusion::kNone) return true;
  const int64_t document = database_->document_of(chunk_id);
  if (document == origin.document) return false;
  return exclusion == Exclusion::kDocument ||
         group_of_document_[static_cast<size_t>(document)] != origin.group;
}

std::vector<uint8_t> documents_of_fraction(const RetrievalDatabase& database, double fraction) {
  constexpr double kHashes = 18446744073709551616.0;  // 2^64
  std::vector<uint8_t> is_kept;
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    const DatabaseDocument& document = database.document(d);
    const uint64_t hash = sha1_prefix(fmt::format("{}/{}", document.source, document.id));
    is_kept.push_back(static_cast<double>(hash) < fraction * kHashes ? 1 : 0);
  }
  return is_kept;
}

void search_allowed(const NeighbourIndex& index, std::span<const float> queries_XQ, int64_t k,
                    const ChunkFilter& is_allowed, const SearchParameters& parameters,
                    std::span<int64_t> ids_XK, std::span<float> distances_XK) {
  if (ids_XK.empty()) return;
  if (index.is_exact()) {
    exact_database_search(index.database(), queries_XQ, k, is_allowed, parameters.num_threads,
                          ids_XK, distances_XK);
    return;
  }
  std::vector<int64_t> all(ids_XK.size() / static_cast<size_t>(k));
  std::iota(all.begin(), all.end(), int64_t{0});
  OverfetchSearch(index, queries_XQ, k, is_allowed, ids_XK, distances_XK)
      .run(parameters, std::move(all));
}

void search_until_found(const NeighbourIndex& index, std::span<const float> queries_XQ, int64_t k,
                        const SearchParameters& parameters, std::span<int64_t> ids_XK,
                        std::span<float> distances_XK) {
  index.search(queries_XQ, k, parameters, ids_XK, distances_XK);
  const auto most = static_cast<size_t>(std::min(k, index.database().num_indexable()));
  if (index.is_exact() || most == 0) return;
  const auto row_length = static_cast<size_t>(k);
  std::vector<int64_t> short_of_some;
  for (size_t x = 0; x < ids_XK.size() / row_length; ++x) {
    const bool is_short = ids_XK[x * row_length + most - 1] == kMissing;
    if (is_short) short_of_some.push_back(static_cast<int64_t>(x));
  }
  const ChunkFilter every_chunk = [](int64_t, int64_t) { return true; };
  OverfetchSearch(index, queries_XQ, k, every_chunk, ids_XK, distances_XK)
      .run(parameters, std::move(short_of_some));
}

void filtered_search(const NeighbourIndex& index, const OriginTable& origins,
                     std::span<const float> queries_XQ, std::span<const QueryOrigin> query_origins,
                     Exclusion exclusion, int64_t k, const SearchParameters& parameters,
                     std::span<int64_t> ids_XK, std::span<float> distances_XK) {
  const int64_t width = index.database().key_width();
  RETRO_CHECK(queries_XQ.size() == query_origins.size() * static_cast<size_t>(width),
              "filtered search: {} query values of width {} do not fit {} origins",
              queries_XQ.size(), width, query_origins.size());
  RETRO_CHECK(k >= 0 && ids_XK.size() == query_origins.size() * static_cast<size_t>(k) &&
                  distances_XK.size() == ids_XK.size(),
              "filtered search: {} queries and k {} do not fit {} ids and {} distances",
              query_origins.size(), k, ids_XK.size(), distances_XK.size());
  if (exclusion == Exclusion::kNone) {
    search_until_found(index, queries_XQ, k, parameters, ids_XK, distances_XK);
    return;
  }
  const auto is_allowed = [&](int64_t query, int64_t chunk_id) {
    return origins.is_allowed(query_origins[static_cast<size_t>(query)], chunk_id, exclusion);
  };
  search_allowed(index, queries_XQ, k, is_allowed, parameters, ids_XK, distances_XK);
}

}  // namespace retro
