// The stored neighbours of every chunk of a grid (METHOD section 2.6).
#pragma once

#include <filesystem>
#include <span>

#include "retro/core/array_file.h"
#include "retro/retrieval/neighbour_filter.h"
#include "retro/text/chunker.h"

namespace retro {

struct NeighbourTableSummary {
  int64_t num_rows = 0;
  int64_t queries_issued = 0;
  double share_with_neighbour = 0;
  double share_short = 0;        ///< rows with fewer than num_neighbours
  double mean_distance = 0;      ///< of rank 0
  double share_same_source = 0;  ///< rank 0 of the query's own source
};

/// Read side. Row = ChunkGrid row.
class NeighbourTable {
 public:
  /// Refuses a table of another database version or another grid.
  NeighbourTable(const std::filesystem::path& directory, const std::string& database_version,
                 const std::string& grid_hash);
  int64_t num_rows() const { return static_cast<int64_t>(ids_.rows()); }
  int64_t num_neighbours() const { return static_cast<int64_t>(ids_.columns()); }
  std::span<const int64_t> ids(int64_t row) const {
    return ids_.row<int64_t>(static_cast<uint64_t>(row));
  }
  std::span<const float> distances(int64_t row) const {
    return distances_.row<float>(static_cast<uint64_t>(row));
  }
  const NeighbourTableSummary& summary() const { return summary_; }
  /// Reads every value. Throws Error naming the damaged file.
  void verify() const {
    ids_.verify();
    distances_.verify();
  }

 private:
  ArrayFile ids_;
  ArrayFile distances_;
  NeighbourTableSummary summary_;
};

/// Keys of a grid's chunks: taken from the database where the same chunk (same source, document and
/// grid) is stored, embedded otherwise. Row-major float32 keys in an array file plus a has_key
/// file.
struct GridKeys {
  ArrayFile keys;
  ArrayFile has_key;
};
GridKeys load_or_embed_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                            const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                            const std::filesystem::path& directory);

/// What a table holds and how it is made.
struct TableSettings {
  Exclusion exclusion = Exclusion::kDocument;
  int64_t num_neighbours = 0;
  int num_threads = 1;
  double database_fraction = 1.0;  ///< share of the documents that may be found
};

/// Searches block by block (resumable) and writes the table atomically. `k` larger than the
/// database is a warning. `database_fraction` below 1 limits the search to that share of the
/// documents (documents_of_fraction).
NeighbourTableSummary build_neighbour_table(const ChunkGrid& grid, const GridKeys& keys,
                                            const NeighbourIndex& index, Exclusion exclusion,
                                            int64_t num_neighbours, int num_threads,
                                            const std::filesystem::path& directory,
                                            double database_fraction = 1.0);

/// What every part of a table is made from.
struct TablePartInputs {
  const ChunkGrid& grid;
  const NeighbourIndex& index;
  const Tokenizer& tokenizer;
  ChunkEmbedder& embedder;
  TableSettings settings;
};

/// Blocks of 8,192 rows number part.index, part.index + part.count, ...: their keys are left in
/// KEYS_DIRECTORY.partial and their neighbours in DIRECTORY.partial. Several processes that see the
/// same directories make a part each; load_or_embed_keys and build_neighbour_table then find them,
/// make what is missing and put the whole in place, with the bytes of one process. Resumable.
void build_neighbour_table_part(const TablePartInputs& inputs, const BuildPart& part,
                                const std::filesystem::path& keys_directory,
                                const std::filesystem::path& directory);

/// Brings the table in `directory` to the index's state of the database: rows that name a deleted
/// chunk are searched again, all others only among the chunks added since. With an exact index the
/// result is that of build_neighbour_table, value for value; with lists, the same as long as they
/// are the same lists. Anything that cannot be brought up to date so, a table of a share of the
/// database and one of a state that this database does not come from among it, is built anew.
NeighbourTableSummary refresh_neighbour_table(const ChunkGrid& grid, const GridKeys& keys,
                                              const NeighbourIndex& index, Exclusion exclusion,
                                              int64_t num_neighbours, int num_threads,
                                              const std::filesystem::path& directory,
                                              double database_fraction = 1.0);

/// Whether `load_or_embed_keys` left keys of this very grid in `directory`, beside a state of this
/// database that is known.
bool has_grid_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                   const std::filesystem::path& directory);

/// The keys that `load_or_embed_keys` left in `directory`, for whatever state of the database: a
/// chunk's key does not depend on it. Throws Error where they do not fit the grid.
GridKeys open_grid_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                        const std::filesystem::path& directory);

}  // namespace retro
