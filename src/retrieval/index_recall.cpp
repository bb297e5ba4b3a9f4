#include "index_recall.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "retro/core/seconds_since.h"
#include "retro/retrieval/neighbour_filter.h"

#include "index_training.h"

namespace retro {
namespace {

constexpr int64_t kRecallDepth = 10;

}  // namespace

RecallSample::RecallSample(const RetrievalDatabase& database, std::vector<int64_t> chunks,
                           int num_threads)
    : database_(database),
      chunks_(std::move(chunks)),
      queries_XQ_(gather_keys(database, chunks_)),
      exact_ids_XK_(chunks_.size() * kRecallDepth),
      exact_distances_XK_(chunks_.size() * kRecallDepth),
      num_threads_(std::max(1, num_threads)) {
  const auto start = std::chrono::steady_clock::now();
  exact_database_search(
      database, queries_XQ_, kRecallDepth,
      [this](int64_t query, int64_t chunk_id) { return may_see(query, chunk_id); }, num_threads_,
      exact_ids_XK_, exact_distances_XK_);
  exact_seconds_per_query_ = seconds_since(start) * num_threads_ /
                             static_cast<double>(std::max<size_t>(1, chunks_.size()));
}

bool RecallSample::may_see(int64_t query, int64_t chunk_id) const {
  const int64_t own = chunks_[static_cast<size_t>(query)];
  // Neighbours in use come from other documents; where there is one document only, from other
  // chunks.
  if (database_.num_live_documents() < 2) return chunk_id != own;
  return database_.document_of(chunk_id) != database_.document_of(own);
}

OperatingPoint RecallSample::measure(const NeighbourIndex& index, int64_t num_probes,
                                     int64_t rerank_factor) const {
  std::vector<int64_t> ids(exact_ids_XK_.size());
  std::vector<float> distances(exact_ids_XK_.size());
  const auto start = std::chrono::steady_clock::now();
  search_allowed(
      index, queries_XQ_, kRecallDepth,
      [this](int64_t query, int64_t chunk_id) { return may_see(query, chunk_id); },
      {.num_probes = num_probes, .num_threads = num_threads_, .rerank_factor = rerank_factor}, ids,
      distances);
  OperatingPoint point;
  point.num_probes = num_probes;
  point.rerank_factor = rerank_factor;
  point.seconds_per_query = seconds_since(start) * num_threads_ /
                            static_cast<double>(std::max<size_t>(1, chunks_.size()));
  int64_t wanted = 0;
  int64_t found = 0;
  int64_t nearest_wanted = 0;
  int64_t nearest_found = 0;
  for (size_t x = 0; x < chunks_.size(); ++x) {
    const size_t row = x * kRecallDepth;
    const auto exact = std::span(exact_ids_XK_).subspan(row, kRecallDepth);
    const int64_t num_exact = kRecallDepth - std::ranges::count(exact, kMissing);
    if (num_exact == 0) continue;
    const float farthest = exact_distances_XK_[row + static_cast<size_t>(num_exact) - 1];
    const auto own = std::span(distances).subspan(row, kRecallDepth);
    wanted += num_exact;
    found += std::min<int64_t>(num_exact,
                               std::ranges::count_if(own, [&](float d) { return d <= farthest; }));
    ++nearest_wanted;
    nearest_found += own.front() <= exact_distances_XK_[row] ? 1 : 0;
  }
  const auto share = [](int64_t part, int64_t whole) {
    return whole == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(part) / static_cast<double>(whole);
  };
  point.recall_at_10 = share(found, wanted);
  point.recall_1_in_10 = share(nearest_found, nearest_wanted);
  return point;
}

OperatingPoint measure_recall(const NeighbourIndex& index, int64_t num_queries, uint64_t seed,
                              int num_threads) {
  const RetrievalDatabase& database = index.database();
  const int64_t count = std::min(num_queries, database.num_indexable());
  const RecallSample sample(database, sample_chunks(database, count, seed, "recall"), num_threads);
  return sample.measure(index, index.report().num_probes, index.report().rerank_factor);
}

}  // namespace retro
