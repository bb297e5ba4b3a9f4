#include "retro/data/data_loader.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <omp.h>

#include "retro/core/error.h"

namespace retro {

namespace {

/// Tensors are filled on the loader's thread alone: its own OpenMP team would compete with the one
/// that trains.
void use_one_openmp_thread() {
  at::internal::lazy_init_num_threads();
  omp_set_num_threads(1);
}

}  // namespace

DataLoader::DataLoader(std::function<Batch(int64_t index)> make, const DataLoaderConfig& config)
    : make_(std::move(make)),
      config_(config),
      next_to_make_(config.first),
      next_to_give_(config.first) {
  config_.depth = std::max<int64_t>(config_.depth, 1);
  for (int t = 0; t < config_.num_threads; ++t) threads_.emplace_back([this] { work(); });
}

DataLoader::~DataLoader() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  place_free_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool DataLoader::has_next() const {
  return config_.count < 0 || next_to_give_ < config_.first + config_.count;
}

bool DataLoader::can_start() const {
  const bool is_within = config_.count < 0 || next_to_make_ < config_.first + config_.count;
  return is_within && next_to_make_ < next_to_give_ + config_.depth;
}

void DataLoader::work() {
  use_one_openmp_thread();
  while (true) {
    int64_t index = 0;
    {
      std::unique_lock lock(mutex_);
      place_free_.wait(lock, [this] { return is_stopping_ || can_start(); });
      if (is_stopping_) return;
      index = next_to_make_++;
    }
    Slot slot;
    try {
      slot.batch = make_(index);
    } catch (...) {
      slot.error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ready_[index] = std::move(slot);
    batch_ready_.notify_all();
  }
}

Batch DataLoader::next() {
  RETRO_CHECK(has_next(), "data loader: all {} batches have been handed out", config_.count);
  if (threads_.empty()) return make_(next_to_give_++);
  Slot slot;
  {
    std::unique_lock lock(mutex_);
    batch_ready_.wait(lock, [this] { return ready_.count(next_to_give_) != 0; });
    const auto found = ready_.find(next_to_give_);
    slot = std::move(found->second);
    ready_.erase(found);
    ++next_to_give_;
  }
  place_free_.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

}  // namespace retro
