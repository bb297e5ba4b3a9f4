#include "retro/retrieval/live_database.h"

#include <chrono>
#include <thread>
#include <utility>

#include <sys/stat.h>

#include "retro/core/error.h"

#include "database_format.h"

namespace retro {
namespace {

/// A compaction replaces database and index one after the other; opening both can miss it this
/// often.
constexpr int kAttempts = 20;
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

LiveDatabase::LiveDatabase(DatabasePlace place, const MemoryBudget& budget)
    : place_(std::move(place)), budget_(budget) {
  newest();
}

LiveDatabase::Stamp LiveDatabase::stamp() const {
  struct stat status {};
  const auto path = place_.database / database_format::kManifest;
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::shared_ptr<const DatabaseSnapshot> LiveDatabase::open() const {
  auto snapshot = std::make_shared<DatabaseSnapshot>();
  auto database = std::make_unique<RetrievalDatabase>(place_.database);
  database->set_memory_budget(budget_);
  snapshot->database = std::move(database);
  if (snapshot_) {
    if (auto index = snapshot_->index->over(*snapshot->database)) {
      snapshot->index = std::make_unique<NeighbourIndex>(std::move(*index));
      return snapshot;
    }
  }
  snapshot->index = std::make_unique<NeighbourIndex>(*snapshot->database, place_.index);
  return snapshot;
}

std::shared_ptr<const DatabaseSnapshot> LiveDatabase::newest() {
  const std::lock_guard lock(mutex_);
  for (int attempt = 1;; ++attempt) {
    const Stamp now = stamp();
    if (snapshot_ && now == stamp_) return snapshot_;
    try {
      snapshot_ = open();
      stamp_ = now;
      return snapshot_;
    } catch (const Error&) {
      if (attempt == kAttempts) throw;
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace retro
