#include "retro/text/common_run.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

namespace retro {

namespace {

constexpr int32_t kFree = -1;

size_t first_slot(int32_t id, size_t mask) {
  // Fibonacci hashing: neighbouring ids spread over the table.
  return (static_cast<uint32_t>(id) * 2654435769u >> 7) & mask;
}

/// runs[j + 1] = previous[j] + 1 where numbers[j] == number, else 0; best[j] keeps the largest.
template <class Cell>
void next_row(size_t length, Cell number, const Cell* __restrict numbers,
              const Cell* __restrict previous, Cell* __restrict runs, Cell* __restrict best) {
  for (size_t j = 0; j < length; ++j) {
    const auto matches =
        static_cast<Cell>(numbers[j] == number ? std::numeric_limits<Cell>::max() : 0);
    const auto run = static_cast<Cell>((previous[j] + 1) & matches);
    runs[j + 1] = run;
    best[j] = std::max(best[j], run);
  }
}

template <class Cell>
Cell largest(const Cell* values, size_t length) {
  Cell result = 0;
  for (size_t j = 0; j < length; ++j) result = std::max(result, values[j]);
  return result;
}

}  // namespace

RunMatcher::RunMatcher(std::span<const int32_t> chunk) : chunk_numbers_(chunk.size(), 0) {
  const size_t slots = std::bit_ceil(4 * chunk.size() + 1);
  table_ids_.assign(slots, kFree);
  table_numbers_.assign(slots, 0);
  uint32_t distinct = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] < 0) continue;
    size_t slot = first_slot(chunk[i], slots - 1);
    while (table_ids_[slot] != kFree && table_ids_[slot] != chunk[i])
      slot = (slot + 1) & (slots - 1);
    if (table_ids_[slot] == kFree) {
      table_ids_[slot] = chunk[i];
      table_numbers_[slot] = ++distinct;
    }
    chunk_numbers_[i] = table_numbers_[slot];
  }
}

template <class Cell>
void RunMatcher::number_text(std::span<const int32_t> text, Cell* numbers) const {
  const size_t mask = table_ids_.size() - 1;
  for (size_t j = 0; j < text.size(); ++j) {
    Cell number = 0;
    if (text[j] >= 0) {
      size_t slot = first_slot(text[j], mask);
      while (table_ids_[slot] != kFree && table_ids_[slot] != text[j]) slot = (slot + 1) & mask;
      if (table_ids_[slot] != kFree) number = static_cast<Cell>(table_numbers_[slot]);
    }
    numbers[j] = number;
  }
}

template <class Cell, class Visit>
void RunMatcher::sweep(std::span<const int32_t> text, Visit&& visit) {
  const size_t length = text.size();
  scratch_.resize((4 * length + 2) * sizeof(Cell));
  std::memset(scratch_.data(), 0, scratch_.size());
  auto* numbers = reinterpret_cast<Cell*>(scratch_.data());
  Cell* best = numbers + length;
  Cell* previous = best + length;
  Cell* runs = previous + length + 1;
  number_text(text, numbers);
  for (size_t i = 0; i < chunk_numbers_.size(); ++i) {
    if (chunk_numbers_[i] == 0) {
      std::fill_n(runs, length + 1, Cell{0});
    } else {
      next_row(length, static_cast<Cell>(chunk_numbers_[i]), numbers, previous, runs, best);
    }
    visit(i, runs + 1);
    std::swap(previous, runs);
  }
}

template <class Cell>
int64_t RunMatcher::longest_in(std::span<const int32_t> text) {
  sweep<Cell>(text, [](size_t, const Cell*) {});
  const auto* best = reinterpret_cast<const Cell*>(scratch_.data()) + text.size();
  return static_cast<int64_t>(largest(best, text.size()));
}

template <class Cell>
void RunMatcher::mark_in(std::span<const int32_t> text, std::span<int32_t> chunk_runs,
                         std::span<int32_t> text_runs) {
  sweep<Cell>(text, [&](size_t i, const Cell* runs) {
    chunk_runs[i] = std::max(chunk_runs[i], static_cast<int32_t>(largest(runs, text.size())));
  });
  const auto* best = reinterpret_cast<const Cell*>(scratch_.data()) + text.size();
  for (size_t j = 0; j < text.size(); ++j) text_runs[j] = static_cast<int32_t>(best[j]);
}

int64_t RunMatcher::longest_run(std::span<const int32_t> text) {
  // A cell holds numbers and runs up to the chunk's length.
  if (chunk_numbers_.size() <= std::numeric_limits<uint8_t>::max())
    return longest_in<uint8_t>(text);
  if (chunk_numbers_.size() <= std::numeric_limits<uint16_t>::max())
    return longest_in<uint16_t>(text);
  return longest_in<uint32_t>(text);
}

void RunMatcher::mark_runs(std::span<const int32_t> text, std::span<int32_t> chunk_runs,
                           std::span<int32_t> text_runs) {
  assert(chunk_runs.size() == chunk_numbers_.size() && text_runs.size() == text.size());
  if (chunk_numbers_.size() <= std::numeric_limits<uint8_t>::max()) {
    mark_in<uint8_t>(text, chunk_runs, text_runs);
  } else if (chunk_numbers_.size() <= std::numeric_limits<uint16_t>::max()) {
    mark_in<uint16_t>(text, chunk_runs, text_runs);
  } else {
    mark_in<uint32_t>(text, chunk_runs, text_runs);
  }
}

int run_level(int64_t run) {
  if (run < 2) return 0;
  if (run < 4) return 1;
  if (run < 8) return 2;
  return run < 16 ? 3 : 4;
}

}  // namespace retro
