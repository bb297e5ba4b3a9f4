// Runs of tokens that two texts have in common: the colours of the neighbour display.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retro {

/// Compares one chunk with many texts. A run is contiguous on both sides; a negative id (padding)
/// never matches and ends every run. Exact: dynamic programming over chunk x text with the chunk's
/// tokens renumbered, to one byte where they fit, so that one vector instruction compares 32 of
/// them. Not thread-safe (holds scratch). Where only the longest run is asked for, see LongestRun.
class RunMatcher {
 public:
  explicit RunMatcher(std::span<const int32_t> chunk);

  /// Length of the longest run common to the chunk and `text`.
  int64_t longest_run(std::span<const int32_t> text);

  /// For each token the length of the longest run that ends at it and also stands on the other
  /// side. `chunk_runs` (chunk's length) keeps the larger of its old and new values, so that
  /// several texts add up; `text_runs` (text's length) is overwritten.
  void mark_runs(std::span<const int32_t> text, std::span<int32_t> chunk_runs,
                 std::span<int32_t> text_runs);

 private:
  template <class Cell, class Visit>
  void sweep(std::span<const int32_t> text, Visit&& visit);
  template <class Cell>
  void number_text(std::span<const int32_t> text, Cell* numbers) const;
  template <class Cell>
  int64_t longest_in(std::span<const int32_t> text);
  template <class Cell>
  void mark_in(std::span<const int32_t> text, std::span<int32_t> chunk_runs,
               std::span<int32_t> text_runs);

  std::vector<int32_t> table_ids_;  ///< open addressing: token id, or -1 where free
  std::vector<uint32_t> table_numbers_;
  std::vector<uint32_t> chunk_numbers_;  ///< 1.. per distinct token; 0 for padding
  std::vector<std::byte> scratch_;
};

/// How strongly a token is coloured: 0 (run of 0 or 1: chance), 1 (2..3), 2 (4..7), 3 (8..15), 4
/// (16 and more).
int run_level(int64_t run);

}  // namespace retro
