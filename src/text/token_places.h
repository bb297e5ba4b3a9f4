// Where each token of a short chunk stands, as bits of one word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retro {

/// A perfect hash of the distinct tokens of a chunk: a look-up takes no branch, whatever the token.
/// Negative ids (padding) stand nowhere.
class TokenPlaces {
 public:
  static constexpr size_t kMost = 64;  ///< tokens of a chunk: bits of a word

  /// Forgets the chunk before.
  void assign(std::span<const int32_t> chunk);

  /// words[j]: bit i is set where chunk[i] == text[j]. Returns all of them or-ed together.
  uint64_t find(std::span<const int32_t> text, uint64_t* words) const;

  /// The same, but about every thirtieth token that the chunk does not have gets the word of one
  /// that it has: runs of these words are never shorter than the true ones. Half the work.
  uint64_t find_unchecked(std::span<const int32_t> text, uint64_t* words) const;

 private:
  /// Fills the slots; false if two tokens share one.
  bool place(std::span<const int32_t> chunk);
  size_t slot_of(int32_t token) const { return (static_cast<uint32_t>(token) * factor_) >> shift_; }

  // By slot; as many as a power of two. A slot without a token has word 0.
  std::vector<uint64_t> words_;
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> used_;  ///< slots that have a token
  uint32_t factor_ = 1;         ///< odd
  uint32_t shift_ = 0;          ///< leaves the bits of a slot's number
};

}  // namespace retro
