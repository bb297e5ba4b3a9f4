// A retrieval database, its index and a neighbour table over a tiny corpus.
#pragma once

#include <filesystem>

#include "retro/embed/hashed_embedder.h"
#include "retro/retrieval/neighbour_index.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/retrieval/retrieval_database.h"

#include "data_layer/tiny_corpus.h"

namespace retro::testing {

/// Everything below `directory`, made with the hashed embedder.
class TinyDatabase {
 public:
  TinyDatabase(const ChunkGrid& grid, const std::filesystem::path& directory)
      : directory_(directory),
        database_(build(grid, directory / "database")),
        index_(database_, build_index_of(database_, directory / "index")) {}

  const RetrievalDatabase& database() const { return database_; }
  NeighbourTable table(const ChunkGrid& grid, Exclusion exclusion, int64_t num_neighbours,
                       const std::string& name) const {
    HashedEmbedder embedder(kWidth);
    const GridKeys keys = load_or_embed_keys(grid, database_, ByteTokenizer(), embedder,
                                             directory_ / (name + "_keys"));
    build_neighbour_table(grid, keys, index_, exclusion, num_neighbours, 1, directory_ / name);
    return {directory_ / name, database_.version(), grid.hash()};
  }

 private:
  static constexpr int64_t kWidth = 64;

  static std::filesystem::path build(const ChunkGrid& grid, const std::filesystem::path& path) {
    HashedEmbedder embedder(kWidth);
    DatabaseConfig config;
    config.chunk_length = grid.chunk_length();
    config.key_storage = "float32";
    build_database(grid, ByteTokenizer(), embedder, config, path);
    return path;
  }
  static std::filesystem::path build_index_of(const RetrievalDatabase& database,
                                              const std::filesystem::path& path) {
    IndexConfig config;
    config.type = "exact";
    build_index(database, config, 0, 1, path);
    return path;
  }

  std::filesystem::path directory_;
  RetrievalDatabase database_;
  NeighbourIndex index_;
};

}  // namespace retro::testing
