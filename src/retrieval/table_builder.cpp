#include "table_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "retro/core/progress.h"

#include "database_format.h"
#include "nearest_list.h"
#include "table_format.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
}  // namespace

TableBuilder::TableBuilder(const ChunkGrid& grid, KeyRowsOfBlock keys, const NeighbourIndex& index,
                           const TableSettings& settings, const EarlierTable& before)
    : grid_(grid),
      keys_(std::move(keys)),
      index_(index),
      origins_(index.database()),
      exclusion_(settings.exclusion),
      num_neighbours_(settings.num_neighbours),
      num_threads_(settings.num_threads),
      before_(before) {
  if (settings.database_fraction < 1.0) {
    is_kept_ = documents_of_fraction(index.database(), settings.database_fraction);
  }
  for (const int64_t document : grid.documents()) {
    origin_of_document_.push_back(origins_.origin(grid.corpus().document(document)));
  }
}

BlockFiles TableBuilder::blocks(const fs::path& directory, const std::string& made_from) const {
  return {directory,
          {{table_format::kIds,
            database_format::header_of(table_format::expected_ids(made_from, num_neighbours_))},
           {table_format::kDistances, database_format::header_of(table_format::expected_distances(
                                          made_from, num_neighbours_))}},
          grid_.num_rows(),
          kGridBlockRows};
}

void TableBuilder::write(const fs::path& directory, const std::string& made_from) const {
  write_part(directory, made_from, {});
  blocks(directory, made_from).join();
}

void TableBuilder::write_part(const fs::path& directory, const std::string& made_from,
                              const BuildPart& part) const {
  const BlockFiles files = blocks(directory, made_from);
  Progress progress("neighbours", grid_.num_rows(), "chunks");
  for (int64_t block = part.index; block < files.num_blocks() && !files.is_joined();
       block += part.count) {
    if (!files.has_block(block)) write_block(files, block);
    progress.update(files.end_row(block));
  }
  progress.finish();
}

NeighbourTableSummary TableBuilder::summarise(const fs::path& directory,
                                              const std::string& made_from) const {
  const ArrayFile ids(directory / table_format::kIds,
                      table_format::expected_ids(made_from, num_neighbours_));
  const ArrayFile distances(directory / table_format::kDistances,
                            table_format::expected_distances(made_from, num_neighbours_));
  int64_t num_found = 0;
  int64_t num_short = 0;
  int64_t num_same_source = 0;
  double sum_distance = 0;
  for (int64_t row = 0; row < grid_.num_rows(); ++row) {
    const auto own = ids.row<int64_t>(static_cast<uint64_t>(row));
    if (own.back() == kMissing) ++num_short;
    if (own.front() == kMissing) continue;
    ++num_found;
    num_same_source += is_same_source(row, own.front()) ? 1 : 0;
    sum_distance += double{distances.row<float>(static_cast<uint64_t>(row)).front()};
  }
  const auto share = [](auto part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  NeighbourTableSummary summary;
  summary.num_rows = grid_.num_rows();
  summary.queries_issued = num_queries();
  summary.share_with_neighbour = share(num_found, grid_.num_rows());
  summary.share_short = share(num_short, grid_.num_rows());
  summary.mean_distance = share(sum_distance, num_found);
  summary.share_same_source = share(num_same_source, num_found);
  return summary;
}

int64_t TableBuilder::num_queries() const {
  int64_t count = 0;
  for (int64_t begin = 0; begin < grid_.num_rows(); begin += kGridBlockRows) {
    const KeyRows keys = keys_(begin / kGridBlockRows);
    const int64_t end = std::min(grid_.num_rows(), begin + kGridBlockRows);
    for (int64_t row = begin; row < end; ++row) count += keys.has_key(row) ? 1 : 0;
  }
  return count;
}

void TableBuilder::write_block(const BlockFiles& blocks, int64_t block) const {
  const int64_t begin = blocks.first_row(block);
  const int64_t end = blocks.end_row(block);
  const auto row_length = static_cast<size_t>(num_neighbours_);
  const auto num_values = static_cast<size_t>(end - begin) * row_length;
  std::vector<int64_t> ids(num_values, kMissing);
  std::vector<float> distances(num_values, std::numeric_limits<float>::infinity());
  search_rows(keys_(block), begin, end, {begin, ids, distances});
  ArrayFileWriter id_file = blocks.open_block(block, 0);
  id_file.append(std::span<const int64_t>(ids));
  id_file.commit();
  ArrayFileWriter distance_file = blocks.open_block(block, 1);
  distance_file.append(std::span<const float>(distances));
  distance_file.commit();
}

/// Rows without a key keep what they have: missing neighbours.
void TableBuilder::search_rows(const KeyRows& keys, int64_t begin, int64_t end,
                               const RowResults& results) const {
  RowQueries all;
  RowQueries kept;
  for (int64_t row = begin; row < end; ++row) {
    if (keys.has_key(row)) add_query(row, keys.key(row), is_still_right(row) ? kept : all);
  }
  search_all(all, results);
  search_added(kept, results);
}

void TableBuilder::add_query(int64_t row, std::span<const float> key, RowQueries& queries) const {
  queries.rows.push_back(row);
  queries.queries_XQ.insert(queries.queries_XQ.end(), key.begin(), key.end());
  queries.origins.push_back(origin_of_document_[static_cast<size_t>(grid_.document_of_row(row))]);
}

/// No chunk of the row was deleted: it lacks at most chunks added since.
bool TableBuilder::is_still_right(int64_t row) const {
  if (before_.table == nullptr) return false;
  return std::ranges::all_of(before_.table->ids(row), [&](int64_t id) {
    return id == kMissing || index_.database().is_live(id);
  });
}

void TableBuilder::search_all(const RowQueries& queries, const RowResults& results) const {
  const auto row_length = static_cast<size_t>(num_neighbours_);
  std::vector<int64_t> ids(queries.rows.size() * row_length);
  std::vector<float> distances(ids.size());
  search(queries, ids, distances);
  for (size_t i = 0; i < queries.rows.size(); ++i) {
    const size_t to = offset_of(queries.rows[i], results);
    std::ranges::copy(std::span(ids).subspan(i * row_length, row_length),
                      results.ids.subspan(to).begin());
    std::ranges::copy(std::span(distances).subspan(i * row_length, row_length),
                      results.distances.subspan(to).begin());
  }
}

void TableBuilder::search(const RowQueries& queries, std::span<int64_t> ids,
                          std::span<float> distances) const {
  const SearchParameters parameters{.num_probes = 0, .num_threads = num_threads_};
  if (is_kept_.empty()) {
    filtered_search(index_, origins_, queries.queries_XQ, queries.origins, exclusion_,
                    num_neighbours_, parameters, ids, distances);
    return;
  }
  const auto is_allowed = [&](int64_t query, int64_t chunk_id) {
    return is_kept_[static_cast<size_t>(index_.database().document_of(chunk_id))] != 0 &&
           origins_.is_allowed(queries.origins[static_cast<size_t>(query)], chunk_id, exclusion_);
  };
  search_allowed(index_, queries.queries_XQ, num_neighbours_, is_allowed, parameters, ids,
                 distances);
}

void TableBuilder::search_added(const RowQueries& queries, const RowResults& results) const {
  const auto row_length = static_cast<size_t>(num_neighbours_);
  const RetrievalDatabase& database = index_.database();
  std::vector<int64_t> ids(queries.rows.size() * row_length);
  std::vector<float> distances(ids.size());
  const auto is_allowed = [&](int64_t query, int64_t chunk_id) {
    return origins_.is_allowed(queries.origins[static_cast<size_t>(query)], chunk_id, exclusion_);
  };
  exact_database_search(database, queries.queries_XQ, num_neighbours_, is_allowed, num_threads_,
                        ids, distances, database.first_row_from(before_.next_chunk));
  for (size_t i = 0; i < queries.rows.size(); ++i) {
    NearestList nearest(num_neighbours_);
    const auto old_ids = before_.table->ids(queries.rows[i]);
    const auto old_distances = before_.table->distances(queries.rows[i]);
    for (size_t rank = 0; rank < row_length; ++rank) {
      if (old_ids[rank] != kMissing) nearest.add({old_distances[rank], old_ids[rank]});
      const size_t added = i * row_length + rank;
      if (ids[added] != kMissing) nearest.add({distances[added], ids[added]});
    }
    const size_t to = offset_of(queries.rows[i], results);
    nearest.write_sorted(results.ids.subspan(to, row_length),
                         results.distances.subspan(to, row_length));
  }
}

bool TableBuilder::is_same_source(int64_t row, int64_t chunk_id) const {
  const RetrievalDatabase& database = index_.database();
  const int64_t document = grid_.document(grid_.document_of_row(row));
  return database.document(database.document_of(chunk_id)).source ==
         grid_.corpus().document(document).source;
}

}  // namespace retro
