// A database, held-out documents beside it, and neighbour tables of either.
#pragma once

#include <string>
#include <vector>

#include "retro/retrieval/neighbour_table.h"

#include "index_test_support.h"

namespace retro::testing {

/// Sources "db" (in the database) and "held" (not in it).
class TableFixture {
 public:
  explicit TableFixture(const std::vector<TestDocument>& documents, int64_t chunk_length = 4,
                        const std::string& index_type = "exact")
      : corpus_(scratch_.path(), documents),
        database_grid_(corpus_.grid_of({"db"}, chunk_length)),
        database_(build_database_here()),
        index_(database_, build_index_here(index_type)) {}

  const TestCorpus& corpus() const { return corpus_; }
  const RetrievalDatabase& database() const { return database_; }
  const NeighbourIndex& index() const { return index_; }
  const ChunkGrid& database_grid() const { return database_grid_; }
  ChunkGrid held_out_grid(int64_t shift = 0) const {
    return corpus_.grid_of({"held"}, database_.chunk_length(), shift);
  }
  ClusterEmbedder& embedder() { return embedder_; }
  std::filesystem::path directory(const std::string& name) const { return scratch_ / name; }

  GridKeys keys(const ChunkGrid& grid, const std::string& name = "keys") {
    return load_or_embed_keys(grid, database_, ByteTokenizer(), embedder_, scratch_ / name);
  }
  NeighbourTableSummary build(const ChunkGrid& grid, int64_t num_neighbours,
                              const std::string& name = "table", int num_threads = 2,
                              Exclusion exclusion = Exclusion::kDocument) {
    return build_neighbour_table(grid, keys(grid, name + "_keys"), index_, exclusion,
                                 num_neighbours, num_threads, scratch_ / name);
  }
  NeighbourTable open(const ChunkGrid& grid, const std::string& name = "table") const {
    return {scratch_ / name, database_.version(), grid.hash()};
  }

 private:
  std::filesystem::path build_database_here() {
    build_database(database_grid_, ByteTokenizer(), embedder_,
                   database_config(database_grid_.chunk_length()), scratch_ / "database");
    return scratch_ / "database";
  }
  std::filesystem::path build_index_here(const std::string& type) {
    build_index(database_, index_config(type), 7, 1, scratch_ / "index");
    return scratch_ / "index";
  }

  ScratchDirectory scratch_;
  TestCorpus corpus_;
  ClusterEmbedder embedder_{12};
  ChunkGrid database_grid_;
  RetrievalDatabase database_;
  NeighbourIndex index_;
};

inline std::vector<TestDocument> database_and_held_out(int64_t db_chunks, int64_t held_chunks) {
  std::vector<TestDocument> documents = random_documents(db_chunks, 6, 1);
  for (TestDocument& document : documents) document.source = "db";
  for (TestDocument document : random_documents(held_chunks, 5, 9)) {
    document.source = "held";
    documents.push_back(document);
  }
  return documents;
}

}  // namespace retro::testing
