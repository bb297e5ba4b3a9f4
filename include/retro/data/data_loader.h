// Batches prepared by background threads, handed out in exact order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "retro/data/batch.h"

namespace retro {

struct DataLoaderConfig {
  int64_t first = 0;    ///< first index
  int64_t count = -1;   ///< how many; -1: endless
  int num_threads = 1;  ///< 0: batches are made when they are asked for
  int64_t depth = 4;    ///< batches kept ready at most
};

/// Calls `make(first)`, `make(first + 1)`, ... on its threads (it must be thread-safe) and returns
/// the results in that order. An exception of make(i) is thrown by the call of `next` that would
/// have returned batch i. The destructor ends the threads after the batch each is working on.
class DataLoader {
 public:
  DataLoader(std::function<Batch(int64_t index)> make, const DataLoaderConfig& config);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  bool has_next() const;
  /// One caller at a time.
  Batch next();

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
  };
  void work();
  bool can_start() const;

  std::function<Batch(int64_t)> make_;
  DataLoaderConfig config_;
  int64_t next_to_make_;
  int64_t next_to_give_;
  std::map<int64_t, Slot> ready_;
  bool is_stopping_ = false;
  std::mutex mutex_;
  std::condition_variable batch_ready_;
  std::condition_variable place_free_;
  std::vector<std::thread> threads_;
};

}  // namespace retro
