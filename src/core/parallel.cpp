#include "retro/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include "retro/core/error.h"

namespace retro {
namespace {

constexpr int64_t kBlocksPerThread = 8;

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more processors than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// Processors' worth of time a container may use (cgroup v2); the largest int without a limit.
int quota_count() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  const bool is_limited = static_cast<bool>(file >> quota >> period) && quota > 0 && period > 0;
  return is_limited ? std::max(1, static_cast<int>(std::min(std::ceil(quota / period), 1e6)))
                    : std::numeric_limits<int>::max();
}

/// Hands out blocks and keeps the first exception.
class BlockQueue {
 public:
  BlockQueue(int64_t count, int64_t block_size) : count_(count), block_size_(block_size) {}

  void work(const std::function<void(int64_t, int64_t)>& body) noexcept {
    try {
      while (!has_failed_) {
        const int64_t block = next_block_++;
        if (block > (count_ - 1) / block_size_) return;
        const int64_t begin = block * block_size_;
        body(begin, begin + std::min(block_size_, count_ - begin));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_exception_) first_exception_ = std::current_exception();
      has_failed_ = true;
    }
  }

  void rethrow() const {
    if (first_exception_) std::rethrow_exception(first_exception_);
  }

 private:
  int64_t count_;
  int64_t block_size_;
  std::atomic<int64_t> next_block_{0};
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;
  std::exception_ptr first_exception_;
};

int64_t ceil_divide(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

int default_thread_count() { return std::max(1, std::min(affinity_count(), quota_count())); }

void parallel_for(int64_t count, int num_threads,
                  const std::function<void(int64_t begin, int64_t end)>& body, int64_t block_size) {
  RETRO_CHECK(num_threads >= 0, "number of threads must not be negative, is {}", num_threads);
  if (count <= 0) return;
  const int64_t threads = num_threads == 0 ? default_thread_count() : num_threads;
  if (block_size <= 0)
    block_size = std::max<int64_t>(1, ceil_divide(count, threads * kBlocksPerThread));
  BlockQueue queue(count, block_size);
  std::vector<std::jthread> helpers;
  const int64_t num_helpers = std::min(threads, ceil_divide(count, block_size)) - 1;
  // Where the system refuses another thread, those at hand do all the work.
  try {
    for (int64_t i = 0; i < num_helpers; ++i) helpers.emplace_back([&] { queue.work(body); });
  } catch (const std::system_error&) {
  }
  queue.work(body);
  helpers.clear();
  queue.rethrow();
}

}  // namespace retro
