// A database that changes while it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "retro/retrieval/database_place.h"
#include "retro/retrieval/neighbour_index.h"
#include "retro/retrieval/retrieval_database.h"

namespace retro {

/// Database and index of one moment. Stays as it is, whatever a writer does.
struct DatabaseSnapshot {
  std::unique_ptr<const RetrievalDatabase> database;
  std::unique_ptr<const NeighbourIndex> index;
};

/// Gives the newest state to any number of threads. Lists that are still those of the index are not
/// read again.
class LiveDatabase {
 public:
  /// `budget`: as RetrievalDatabase::set_memory_budget, for every state; with one, a single thread
  /// reads.
  explicit LiveDatabase(DatabasePlace place, const MemoryBudget& budget = {});
  /// The state on disk now. Costs one look at a file where nothing has changed.
  std::shared_ptr<const DatabaseSnapshot> newest();

 private:
  /// When and as what the manifest was last written; renamed into place, it differs every time.
  struct Stamp {
    uint64_t file = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;
  std::shared_ptr<const DatabaseSnapshot> open() const;

  DatabasePlace place_;
  MemoryBudget budget_;
  std::mutex mutex_;
  Stamp stamp_;
  std::shared_ptr<const DatabaseSnapshot> snapshot_;
};

}  // namespace retro
