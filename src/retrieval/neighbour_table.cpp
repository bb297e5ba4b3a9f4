#include "retro/retrieval/neighbour_table.h"

#include <algorithm>
#include <limits>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"

#include "block_files.h"
#include "database_format.h"
#include "resumable_directory.h"
#include "table_format.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = table_format;

constexpr int64_t kBlockRows = 8192;

class TableBuilder {
 public:
  TableBuilder(const ChunkGrid& grid, const GridKeys& keys, const NeighbourIndex& index,
               Exclusion exclusion, int64_t num_neighbours, int num_threads, double fraction)
      : grid_(grid),
        keys_(keys),
        index_(index),
        origins_(index.database()),
        exclusion_(exclusion),
        num_neighbours_(num_neighbours),
        num_threads_(num_threads) {
    if (fraction < 1.0) is_kept_ = documents_of_fraction(index.database(), fraction);
    for (const int64_t document : grid.documents()) {
      origin_of_document_.push_back(origins_.origin(grid.corpus().document(document)));
    }
  }

  void write(const fs::path& directory, const std::string& made_from) const {
    const BlockFiles blocks(
        directory,
        {{format::kIds,
          database_format::header_of(format::expected_ids(made_from, num_neighbours_))},
         {format::kDistances,
          database_format::header_of(format::expected_distances(made_from, num_neighbours_))}},
        grid_.num_rows(), kBlockRows);
    Progress progress("neighbours", grid_.num_rows(), "chunks");
    for (int64_t block = 0; block < blocks.num_blocks() && !blocks.is_joined(); ++block) {
      if (!blocks.has_block(block)) write_block(blocks, block);
      progress.update(blocks.end_row(block));
    }
    blocks.join();
    progress.finish();
  }

  NeighbourTableSummary summarise(const fs::path& directory, const std::string& made_from) const {
    const ArrayFile ids(directory / format::kIds, format::expected_ids(made_from, num_neighbours_));
    const ArrayFile distances(directory / format::kDistances,
                              format::expected_distances(made_from, num_neighbours_));
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
    summary.queries_issued =
        grid_.num_rows() - std::ranges::count(keys_.has_key.values<uint8_t>(), 0);
    summary.share_with_neighbour = share(num_found, grid_.num_rows());
    summary.share_short = share(num_short, grid_.num_rows());
    summary.mean_distance = share(sum_distance, num_found);
    summary.share_same_source = share(num_same_source, num_found);
    return summary;
  }

 private:
  void write_block(const BlockFiles& blocks, int64_t block) const {
    const int64_t begin = blocks.first_row(block);
    const int64_t end = blocks.end_row(block);
    const auto row_length = static_cast<size_t>(num_neighbours_);
    const auto num_values = static_cast<size_t>(end - begin) * row_length;
    std::vector<int64_t> ids(num_values, kMissing);
    std::vector<float> distances(num_values, std::numeric_limits<float>::infinity());
    search_rows(begin, end, ids, distances);
    ArrayFileWriter id_file = blocks.open_block(block, 0);
    id_file.append(std::span<const int64_t>(ids));
    id_file.commit();
    ArrayFileWriter distance_file = blocks.open_block(block, 1);
    distance_file.append(std::span<const float>(distances));
    distance_file.commit();
  }

  /// Rows without a key keep what they have: missing neighbours.
  void search_rows(int64_t begin, int64_t end, std::span<int64_t> ids,
                   std::span<float> distances) const {
    std::vector<int64_t> rows;
    std::vector<float> queries_XQ;
    std::vector<QueryOrigin> query_origins;
    for (int64_t row = begin; row < end; ++row) {
      if (keys_.has_key.values<uint8_t>()[static_cast<size_t>(row)] == 0) continue;
      const auto key = keys_.keys.row<float>(static_cast<uint64_t>(row));
      rows.push_back(row);
      queries_XQ.insert(queries_XQ.end(), key.begin(), key.end());
      query_origins.push_back(origin_of_document_[static_cast<size_t>(grid_.document_of_row(row))]);
    }
    const auto row_length = static_cast<size_t>(num_neighbours_);
    std::vector<int64_t> found_ids(rows.size() * row_length);
    std::vector<float> found_distances(rows.size() * row_length);
    search(queries_XQ, query_origins, found_ids, found_distances);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto to = static_cast<size_t>(rows[i] - begin) * row_length;
      std::ranges::copy(std::span(found_ids).subspan(i * row_length, row_length),
                        ids.subspan(to).begin());
      std::ranges::copy(std::span(found_distances).subspan(i * row_length, row_length),
                        distances.subspan(to).begin());
    }
  }

  void search(std::span<const float> queries_XQ, std::span<const QueryOrigin> query_origins,
              std::span<int64_t> ids, std::span<float> distances) const {
    const SearchParameters parameters{.num_probes = 0, .num_threads = num_threads_};
    if (is_kept_.empty()) {
      filtered_search(index_, origins_, queries_XQ, query_origins, exclusion_, num_neighbours_,
                      parameters, ids, distances);
      return;
    }
    const auto is_allowed = [&](int64_t query, int64_t chunk_id) {
      return is_kept_[static_cast<size_t>(index_.database().document_of(chunk_id))] != 0 &&
             origins_.is_allowed(query_origins[static_cast<size_t>(query)], chunk_id, exclusion_);
    };
    search_allowed(index_, queries_XQ, num_neighbours_, is_allowed, parameters, ids, distances);
  }

  bool is_same_source(int64_t row, int64_t chunk_id) const {
    const RetrievalDatabase& database = index_.database();
    const int64_t document = grid_.document(grid_.document_of_row(row));
    return database.document(database.document_of(chunk_id)).source ==
           grid_.corpus().document(document).source;
  }

  const ChunkGrid& grid_;
  const GridKeys& keys_;
  const NeighbourIndex& index_;
  OriginTable origins_;
  std::vector<QueryOrigin> origin_of_document_;
  Exclusion exclusion_;
  std::vector<uint8_t> is_kept_;  ///< of each document; empty: all
  int64_t num_neighbours_;
  int num_threads_;
};

std::string describe(const IndexReport& report) {
  if (report.type == "exact") return "exact";
  return fmt::format("{}, {} lists, {} probed, recall@10 {:.3f}, distances re-ranked exactly",
                     report.type, report.num_lists, report.num_probes, report.recall_at_10);
}

std::string hash_of_inputs(const ChunkGrid& grid, const GridKeys& keys, const NeighbourIndex& index,
                           Exclusion exclusion, int64_t num_neighbours, double fraction) {
  Hasher hasher;
  hasher.add("neighbour table").add(format::kVersion).add(grid.hash());
  hasher.add(keys.keys.header().source_hash).add(index.database().version());
  hasher.add(index.report().identity)
      .add(index.report().num_probes)
      .add(exclusion_name(exclusion))
      .add(num_neighbours);
  if (fraction < 1.0) hasher.add(fmt::format("fraction {}", fraction));
  return hasher.hex();
}

void check_inputs(const ChunkGrid& grid, const GridKeys& keys, const NeighbourIndex& index,
                  int64_t num_neighbours) {
  RETRO_CHECK(num_neighbours > 0, "a neighbour table of {} neighbours is not possible",
              num_neighbours);
  RETRO_CHECK(static_cast<int64_t>(keys.keys.rows()) == grid.num_rows() &&
                  static_cast<int64_t>(keys.has_key.rows()) == grid.num_rows() &&
                  static_cast<int64_t>(keys.keys.columns()) == index.database().key_width(),
              "{}: {} keys of width {} do not fit {} chunks and a database of width {}; {}",
              keys.keys.path().string(), keys.keys.rows(), keys.keys.columns(), grid.num_rows(),
              index.database().key_width(), format::kRebuild);
  const int64_t num_indexed = index.report().num_indexed;
  if (num_neighbours > num_indexed) {
    log_warning(
        "neighbours: {} neighbours are asked for, the database has {} chunks with a key; the "
        "others are missing",
        num_neighbours, num_indexed);
  }
}

}  // namespace

NeighbourTable::NeighbourTable(const fs::path& directory, const std::string& database_version,
                               const std::string& grid_hash) {
  const format::Manifest manifest = format::read_manifest(directory);
  RETRO_CHECK(manifest.database_version == database_version,
              "{}: the neighbours come from database version {}, expected {}; {}",
              directory.string(), manifest.database_version, database_version, format::kRebuild);
  RETRO_CHECK(manifest.grid_hash == grid_hash,
              "{}: the neighbours belong to other chunks (grid {}, expected {}); {}",
              directory.string(), manifest.grid_hash, grid_hash, format::kRebuild);
  ids_ = {directory / format::kIds,
          format::expected_ids(manifest.made_from, manifest.num_neighbours)};
  distances_ = {directory / format::kDistances,
                format::expected_distances(manifest.made_from, manifest.num_neighbours)};
  summary_ = manifest.summary;
  RETRO_CHECK(ids_.rows() == distances_.rows() && num_rows() == summary_.num_rows,
              "{}: {} rows of ids and {} of distances, expected {}; {}", directory.string(),
              ids_.rows(), distances_.rows(), summary_.num_rows, format::kRebuild);
}

NeighbourTableSummary build_neighbour_table(const ChunkGrid& grid, const GridKeys& keys,
                                            const NeighbourIndex& index, Exclusion exclusion,
                                            int64_t num_neighbours, int num_threads,
                                            const fs::path& directory, double database_fraction) {
  check_inputs(grid, keys, index, num_neighbours);
  const std::string made_from =
      hash_of_inputs(grid, keys, index, exclusion, num_neighbours, database_fraction);
  const std::string version = index.database().version();
  ResumableDirectory work(directory, made_from,
                          [&] { const NeighbourTable table(directory, version, grid.hash()); });
  if (work.is_complete()) return NeighbourTable(directory, version, grid.hash()).summary();
  const TableBuilder builder(grid, keys, index, exclusion, num_neighbours, num_threads,
                             database_fraction);
  builder.write(work.path(), made_from);
  const NeighbourTableSummary summary = builder.summarise(work.path(), made_from);
  format::write_manifest(work.path(), {made_from, version, grid.hash(), exclusion_name(exclusion),
                                       describe(index.report()), num_neighbours, summary});
  work.publish();
  return summary;
}

}  // namespace retro
