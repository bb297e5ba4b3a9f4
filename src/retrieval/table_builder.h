// Computes the rows of a neighbour table, block by block.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "retro/retrieval/neighbour_table.h"

#include "block_files.h"
#include "grid_key_part.h"

namespace retro {

/// The same table of an earlier state of the database; null: none.
struct EarlierTable {
  const NeighbourTable* table = nullptr;
  int64_t next_chunk = 0;  ///< chunks from here on were added since
};

class TableBuilder {
 public:
  TableBuilder(const ChunkGrid& grid, KeyRowsOfBlock keys, const NeighbourIndex& index,
               const TableSettings& settings, const EarlierTable& before = {});

  /// Ids and distances of all rows; blocks that are there already are kept.
  void write(const std::filesystem::path& directory, const std::string& made_from) const;
  /// Blocks part.index, part.index + part.count, ..., for `write` to join.
  void write_part(const std::filesystem::path& directory, const std::string& made_from,
                  const BuildPart& part) const;
  NeighbourTableSummary summarise(const std::filesystem::path& directory,
                                  const std::string& made_from) const;

 private:
  /// Queries of some rows, and where their results go.
  struct RowQueries {
    std::vector<int64_t> rows;
    std::vector<float> queries_XQ;
    std::vector<QueryOrigin> origins;
  };
  struct RowResults {
    int64_t first_row;
    std::span<int64_t> ids;
    std::span<float> distances;
  };

  BlockFiles blocks(const std::filesystem::path& directory, const std::string& made_from) const;
  void write_block(const BlockFiles& blocks, int64_t block) const;
  void search_rows(const KeyRows& keys, int64_t begin, int64_t end,
                   const RowResults& results) const;
  int64_t num_queries() const;
  void add_query(int64_t row, std::span<const float> key, RowQueries& queries) const;
  void search_all(const RowQueries& queries, const RowResults& results) const;
  /// As filtered_search, within the share of documents that may be found.
  void search(const RowQueries& queries, std::span<int64_t> ids, std::span<float> distances) const;
  void search_added(const RowQueries& queries, const RowResults& results) const;
  bool is_still_right(int64_t row) const;
  bool is_same_source(int64_t row, int64_t chunk_id) const;
  size_t offset_of(int64_t row, const RowResults& results) const {
    return static_cast<size_t>((row - results.first_row) * num_neighbours_);
  }

  const ChunkGrid& grid_;
  KeyRowsOfBlock keys_;
  const NeighbourIndex& index_;
  OriginTable origins_;
  std::vector<QueryOrigin> origin_of_document_;
  Exclusion exclusion_;
  int64_t num_neighbours_;
  int num_threads_;
  EarlierTable before_;
  std::vector<uint8_t> is_kept_;  ///< of each document; empty: all
};

}  // namespace retro
