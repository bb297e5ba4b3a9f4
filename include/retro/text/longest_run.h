// The longest run of tokens that two texts have in common: the measure of overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace retro {

class RunMatcher;
class TokenPlaces;

/// Compares one chunk after another with many texts each. A run is contiguous on both sides; a
/// negative id (padding) never matches and ends every run. Exact. For a chunk of up to 64 tokens
/// runs are found by words of 64 bits, one bit a place of the chunk, whose length doubles a step;
/// a longer chunk falls back on RunMatcher. Not thread-safe (holds scratch).
class LongestRun {
 public:
  LongestRun();
  ~LongestRun();
  LongestRun(const LongestRun&) = delete;
  LongestRun& operator=(const LongestRun&) = delete;

  void set_chunk(std::span<const int32_t> chunk);

  /// max(`known`, length of the longest run common to the chunk and `text`). Texts without a run
  /// longer than `known` are given up early.
  int64_t extend(std::span<const int32_t> text, int64_t known);

 private:
  int64_t extend_by_words(std::span<const int32_t> text, int64_t known);

  std::unique_ptr<TokenPlaces> places_;
  std::unique_ptr<RunMatcher> matcher_;  ///< of a chunk too long for a word; else null
  std::vector<uint64_t> scratch_;
};

}  // namespace retro
