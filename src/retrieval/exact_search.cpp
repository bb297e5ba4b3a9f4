#include "retro/retrieval/exact_search.h"

#include <algorithm>

#include "retro/core/error.h"
#include "retro/core/parallel.h"

#include "nearest_list.h"
#include "squared_distance.h"

namespace retro {
namespace {

/// Keys widened at once by a thread (256 x 384 floats: 400 kB, second-level cache).
constexpr int64_t kKeyBlock = 256;
/// Queries that share a pass over a key block.
constexpr int64_t kQueryBlock = 8;
/// Queries that share a pass over all keys: bounds the memory of the candidate lists.
constexpr int64_t kQueryBatch = 1024;

struct Scan {
  const KeySource& keys;
  std::span<const float> queries_XQ;
  int64_t first_query;  ///< number of the first row of queries_XQ, for `is_allowed`
  int64_t num_queries;
  int64_t k;
  const RowFilter& is_allowed;
};

/// One thread's part: rows [begin, end) against every query.
class RowScanner {
 public:
  explicit RowScanner(const Scan& scan)
      : scan_(scan), lists_(static_cast<size_t>(scan.num_queries), NearestList(scan.k)) {}

  void scan_rows(int64_t begin, int64_t end) {
    block_CQ_.resize(static_cast<size_t>(kKeyBlock * scan_.keys.width));
    distances_XC_.resize(static_cast<size_t>(kQueryBlock * kKeyBlock));
    for (int64_t row = begin; row < end; row += kKeyBlock) {
      scan_block(row, std::min(end, row + kKeyBlock));
    }
  }

  NearestList& list(int64_t query) { return lists_[static_cast<size_t>(query)]; }

 private:
  void scan_block(int64_t begin, int64_t end) {
    const int64_t width = scan_.keys.width;
    const auto keys_CQ = std::span(block_CQ_).first(static_cast<size_t>((end - begin) * width));
    scan_.keys.read(begin, end, keys_CQ);
    for (int64_t x = 0; x < scan_.num_queries; x += kQueryBlock) {
      const int64_t count = std::min(kQueryBlock, scan_.num_queries - x);
      squared_distances(scan_.queries_XQ.subspan(static_cast<size_t>(x * width),
                                                 static_cast<size_t>(count * width)),
                        keys_CQ, width, distances_XC_);
      for (int64_t i = 0; i < count; ++i) collect(x + i, begin, end - begin, i * (end - begin));
    }
  }

  void collect(int64_t query, int64_t first_row, int64_t count, int64_t offset) {
    NearestList& nearest = list(query);
    const float* distances = distances_XC_.data() + offset;
    for (int64_t c = 0; c < count; ++c) {
      // "not worse than": an equal distance with a smaller id may still enter.
      if (!(distances[c] <= nearest.worst_distance())) continue;
      const int64_t row = first_row + c;
      if (scan_.is_allowed && !scan_.is_allowed(scan_.first_query + query, row)) continue;
      nearest.add({distances[c], row});
    }
  }

  const Scan& scan_;
  std::vector<NearestList> lists_;
  std::vector<float> block_CQ_;
  std::vector<float> distances_XC_;
};

void scan_batch(const Scan& scan, int num_threads, std::span<int64_t> ids_XK,
                std::span<float> distances_XK) {
  const int64_t num_blocks = (scan.keys.num_rows + kKeyBlock - 1) / kKeyBlock;
  const int64_t num_parts = std::clamp<int64_t>(num_threads, 1, std::max<int64_t>(num_blocks, 1));
  std::vector<RowScanner> scanners(static_cast<size_t>(num_parts), RowScanner(scan));
  const auto scan_part = [&](int64_t part, int64_t) {
    const int64_t begin = num_blocks * part / num_parts * kKeyBlock;
    const int64_t end =
        std::min(num_blocks * (part + 1) / num_parts * kKeyBlock, scan.keys.num_rows);
    scanners[static_cast<size_t>(part)].scan_rows(begin, end);
  };
  parallel_for(num_parts, static_cast<int>(num_parts), scan_part, 1);
  const auto row_length = static_cast<size_t>(scan.k);
  for (int64_t x = 0; x < scan.num_queries; ++x) {
    NearestList& merged = scanners[0].list(x);
    for (size_t part = 1; part < scanners.size(); ++part) {
      for (const Candidate& candidate : scanners[part].list(x).candidates()) merged.add(candidate);
    }
    const auto offset = static_cast<size_t>(x) * row_length;
    merged.write_sorted(ids_XK.subspan(offset, row_length),
                        distances_XK.subspan(offset, row_length));
  }
}

}  // namespace

void exact_search(const KeySource& keys, std::span<const float> queries_XQ, int64_t k,
                  const RowFilter& is_allowed, int num_threads, std::span<int64_t> ids_XK,
                  std::span<float> distances_XK) {
  RETRO_CHECK(keys.width > 0 && k >= 0, "exact search: width {} or k {} is not possible",
              keys.width, k);
  const int64_t num_queries = static_cast<int64_t>(queries_XQ.size()) / keys.width;
  const auto num_results = static_cast<size_t>(num_queries * k);
  RETRO_CHECK(
      static_cast<int64_t>(queries_XQ.size()) == num_queries * keys.width &&
          ids_XK.size() == num_results && distances_XK.size() == num_results,
      "exact search: {} query values of width {} and k {} do not fit {} ids and {} distances",
      queries_XQ.size(), keys.width, k, ids_XK.size(), distances_XK.size());
  for (int64_t first = 0; first < num_queries; first += kQueryBatch) {
    const int64_t count = std::min(kQueryBatch, num_queries - first);
    const Scan scan{keys,
                    queries_XQ.subspan(static_cast<size_t>(first * keys.width),
                                       static_cast<size_t>(count * keys.width)),
                    first,
                    count,
                    k,
                    is_allowed};
    const auto offset = static_cast<size_t>(first * k);
    const auto length = static_cast<size_t>(count * k);
    scan_batch(scan, num_threads, ids_XK.subspan(offset, length),
               distances_XK.subspan(offset, length));
  }
}

void exact_search(std::span<const float> keys_CQ, std::span<const float> queries_XQ, int64_t width,
                  int64_t k, const RowFilter& is_allowed, int num_threads,
                  std::span<int64_t> ids_XK, std::span<float> distances_XK) {
  RETRO_CHECK(width > 0 && static_cast<int64_t>(keys_CQ.size()) % width == 0,
              "exact search: {} key values are no whole rows of width {}", keys_CQ.size(), width);
  const auto read = [&](int64_t begin, int64_t end, std::span<float> keys) {
    const auto rows = keys_CQ.subspan(static_cast<size_t>(begin * width),
                                      static_cast<size_t>((end - begin) * width));
    std::ranges::copy(rows, keys.begin());
  };
  exact_search({static_cast<int64_t>(keys_CQ.size()) / width, width, read}, queries_XQ, k,
               is_allowed, num_threads, ids_XK, distances_XK);
}

}  // namespace retro
