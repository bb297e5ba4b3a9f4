#include "retro/data/neighbour_source.h"

#include <algorithm>
#include <utility>

#include "retro/core/error.h"

namespace retro {

namespace {

/// Value number `rank` of values_KR.
std::span<int32_t> value_at(std::span<int32_t> values_KR, int64_t rank, int64_t chunk_length) {
  const auto r = static_cast<size_t>(2 * chunk_length);
  return values_KR.subspan(static_cast<size_t>(rank) * r, r);
}

void check_ranks(const NeighbourTable& table, int64_t k) {
  RETRO_CHECK(k <= table.num_neighbours(),
              "neighbour table: {} neighbours a chunk are asked, {} are stored; build the table "
              "again with more",
              k, table.num_neighbours());
}

void check_same_chunk_length(const ChunkGrid& grid, const ChunkValues& values) {
  RETRO_CHECK(grid.chunk_length() == values.chunk_length(),
              "chunk length: the stream has {} tokens, the database {}", grid.chunk_length(),
              values.chunk_length());
}

}  // namespace

TableNeighbours::TableNeighbours(const NeighbourTable& table, const ChunkValues& values,
                                 std::string name)
    : table_(&table), values_(&values), name_(std::move(name)) {}

void TableNeighbours::copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const {
  check_ranks(*table_, k);
  const auto ids = table_->ids(row);
  for (int64_t rank = 0; rank < k; ++rank) {
    values_->copy_value(ids[static_cast<size_t>(rank)],
                        value_at(values_KR, rank, values_->chunk_length()));
  }
}

RandomNeighbours::RandomNeighbours(const ChunkGrid& grid, const RetrievalDatabase& database,
                                   uint64_t seed)
    : database_(&database), grid_(&grid), seed_(seed) {
  check_same_chunk_length(grid, database);
  RETRO_CHECK(database.num_chunks() > 0, "random neighbours: the database {} is empty",
              database.directory().string());
  const OriginTable origins(database);
  origin_of_document_.reserve(static_cast<size_t>(grid.num_documents()));
  for (const int64_t document : grid.documents()) {
    origin_of_document_.push_back(origins.origin(grid.corpus().document(document)));
  }
}

namespace {

/// Distinct chunks outside one document, found by drawing and, where nearly all are taken, by
/// walking on from the draw.
class ChunkDraw {
 public:
  ChunkDraw(const RetrievalDatabase& database, int64_t own_document)
      : database_(database), num_candidates_(database.num_chunks()) {
    if (own_document < 0) return;
    own_begin_ = database.document(own_document).first_chunk;
    own_count_ = database.document(own_document).num_chunks;
    num_candidates_ -= own_count_;
  }

  /// kMissing when every candidate is taken.
  int64_t next(RandomStream& random) {
    if (num_candidates_ == 0) return kMissing;
    int64_t candidate = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      candidate = static_cast<int64_t>(random.below(static_cast<uint64_t>(num_candidates_)));
      if (is_free(candidate)) return take(candidate);
    }
    for (int64_t step = 1; step < num_candidates_; ++step) {
      const int64_t walked = (candidate + step) % num_candidates_;
      if (is_free(walked)) return take(walked);
    }
    return kMissing;
  }

 private:
  static constexpr int kAttempts = 100;

  /// Candidates are numbered without the own document's chunks.
  int64_t chunk_id(int64_t candidate) const {
    return candidate < own_begin_ ? candidate : candidate + own_count_;
  }
  bool is_free(int64_t candidate) const {
    const int64_t id = chunk_id(candidate);
    return database_.has_key(id) && std::find(taken_.begin(), taken_.end(), id) == taken_.end();
  }
  int64_t take(int64_t candidate) {
    taken_.push_back(chunk_id(candidate));
    return taken_.back();
  }

  const RetrievalDatabase& database_;
  int64_t num_candidates_;
  int64_t own_begin_ = 0;
  int64_t own_count_ = 0;
  std::vector<int64_t> taken_;
};

}  // namespace

void RandomNeighbours::copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const {
  RandomStream random(seed_, "random_neighbours", static_cast<uint64_t>(row));
  draw_values(random, row, k, values_KR);
}

void RandomNeighbours::copy_values_anew(int64_t row, int64_t sequence, int64_t k,
                                        std::span<int32_t> values_KR) const {
  const RandomStream of_sequence(seed_, "random_sequence", static_cast<uint64_t>(sequence));
  RandomStream random(of_sequence.state().key, "random_neighbours", static_cast<uint64_t>(row));
  draw_values(random, row, k, values_KR);
}

void RandomNeighbours::draw_values(RandomStream& random, int64_t row, int64_t k,
                                   std::span<int32_t> values_KR) const {
  const auto d = static_cast<size_t>(grid_->document_of_row(row));
  ChunkDraw draw(*database_, origin_of_document_[d].document);
  for (int64_t rank = 0; rank < k; ++rank) {
    database_->copy_value(draw.next(random), value_at(values_KR, rank, grid_->chunk_length()));
  }
}

LeakedNeighbours::LeakedNeighbours(const ChunkGrid& grid, const NeighbourTable& table,
                                   const ChunkValues& values)
    : grid_(&grid), table_(&table), values_(&values) {
  check_same_chunk_length(grid, values);
}

void LeakedNeighbours::copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const {
  if (k == 0) return;
  check_ranks(*table_, k - 1);
  const int64_t m = grid_->chunk_length();
  const auto own_R = value_at(values_KR, 0, m);
  copy_own_value(*grid_, row, 0, own_R);
  // The chunk itself may stand in the table as well; it is not shown twice.
  int64_t filled = 1;
  for (const int64_t id : table_->ids(row)) {
    if (filled == k) return;
    const auto value_R = value_at(values_KR, filled, m);
    values_->copy_value(id, value_R);
    if (id == kMissing || !std::equal(value_R.begin(), value_R.end(), own_R.begin())) ++filled;
  }
  for (; filled < k; ++filled) values_->copy_value(kMissing, value_at(values_KR, filled, m));
}

void copy_own_value(const ChunkGrid& grid, int64_t row, int64_t jitter,
                    std::span<int32_t> value_R) {
  const ChunkSpan span = grid.span(row);
  const int64_t m = grid.chunk_length();
  const auto tokens = grid.corpus().tokens(grid.document(grid.document_of_row(row)));
  const auto num_tokens = static_cast<int64_t>(tokens.size());
  const int64_t begin = std::clamp<int64_t>(span.first_token + jitter, 0, num_tokens - 1);
  // Unmoved, the chunk keeps its own length (the first one of a shifted grid is short).
  const bool is_moved = begin != span.first_token;
  const int64_t middle = std::min(begin + (is_moved ? m : span.length), num_tokens);
  const int64_t end = std::min(middle + m, num_tokens);
  std::fill(value_R.begin(), value_R.end(), static_cast<int32_t>(kMissing));
  for (int64_t t = begin; t < middle; ++t) {
    value_R[static_cast<size_t>(t - begin)] = static_cast<int32_t>(tokens[static_cast<size_t>(t)]);
  }
  for (int64_t t = middle; t < end; ++t) {
    value_R[static_cast<size_t>(m + t - middle)] =
        static_cast<int32_t>(tokens[static_cast<size_t>(t)]);
  }
}

}  // namespace retro
