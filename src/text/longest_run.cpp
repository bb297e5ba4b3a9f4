#include "retro/text/longest_run.h"

#include <algorithm>

#include "retro/text/common_run.h"

#include "token_places.h"

namespace retro {
namespace {

/// Runs of 1, 2, 4, ... 64 tokens.
constexpr size_t kLevels = 7;
static_assert(size_t{1} << (kLevels - 1) == TokenPlaces::kMost);
/// Scratch: a row for each level and two for the search between them.
constexpr size_t kRows = kLevels + 2;

/// joined[j] = ends[j] & (earlier[j - length] << length): the places where a run of `length` tokens
/// ends at text position j and an earlier run ends right before it. True if there is any.
bool join_runs(size_t length, size_t text_length, const uint64_t* ends, const uint64_t* earlier,
               uint64_t* __restrict joined) {
  if (length >= text_length) return false;
  std::fill_n(joined, length, 0);
  uint64_t any = 0;
  for (size_t j = length; j < text_length; ++j) {
    joined[j] = ends[j] & (earlier[j - length] << length);
    any |= joined[j];
  }
  return any != 0;
}

/// max(known, longest run). `rows`: kRows rows of `length` words, the first of which holds the
/// places of each text token; row i becomes the places where a run of 2^i tokens ends.
int64_t longest_of_words(size_t length, uint64_t* rows, int64_t known) {
  const auto row = [&](size_t i) { return rows + i * length; };
  size_t top = 0;
  while (top + 1 < kLevels && join_runs(size_t{1} << top, length, row(top), row(top), row(top + 1)))
    ++top;
  // The longest run has 2^top tokens or more, but fewer than twice as many.
  if (known >= (int64_t{2} << top) - 1) return known;
  size_t run = size_t{1} << top;
  const uint64_t* ends = row(top);
  size_t spare = kLevels;
  for (size_t i = top; i-- > 0 && run < TokenPlaces::kMost;) {
    if (!join_runs(run, length, ends, row(i), row(spare))) continue;
    ends = row(spare);
    spare = spare == kLevels ? kLevels + 1 : kLevels;
    run += size_t{1} << i;
  }
  return std::max(known, static_cast<int64_t>(run));
}

}  // namespace

LongestRun::LongestRun() : places_(std::make_unique<TokenPlaces>()) {}
LongestRun::~LongestRun() = default;

void LongestRun::set_chunk(std::span<const int32_t> chunk) {
  if (chunk.size() <= TokenPlaces::kMost) {
    places_->assign(chunk);
    matcher_.reset();
  } else {
    matcher_ = std::make_unique<RunMatcher>(chunk);
  }
}

int64_t LongestRun::extend(std::span<const int32_t> text, int64_t known) {
  if (matcher_ != nullptr) return std::max(known, matcher_->longest_run(text));
  return extend_by_words(text, known);
}

int64_t LongestRun::extend_by_words(std::span<const int32_t> text, int64_t known) {
  if (scratch_.size() < kRows * text.size()) scratch_.resize(kRows * text.size());
  if (places_->find_unchecked(text, scratch_.data()) == 0) return known;
  if (longest_of_words(text.size(), scratch_.data(), known) <= known) return known;
  if (places_->find(text, scratch_.data()) == 0) return known;
  return longest_of_words(text.size(), scratch_.data(), known);
}

}  // namespace retro
