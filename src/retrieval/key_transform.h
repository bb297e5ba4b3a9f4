// Keys as the lists of an index hold them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace retro {

/// Padding with zeros to a whole number of codes and, for product quantisation, a rotation that
/// makes the codes fit better (OPQ: Ge et al. 2013, non-parametric). Distances stay as they are, up
/// to rounding; the result for a row does not depend on the other rows of a call.
class KeyTransform {
 public:
  /// Pads only. `code_width`: features of a code, 0 for lists without codes.
  KeyTransform(int64_t key_width, int64_t code_width);

  /// Features of a row in the lists.
  int64_t list_width() const { return list_width_; }
  bool has_rotation() const { return !rotation_.empty(); }
  /// Learns the rotation from padded rows, on a seeded sample of them. The same bits for any number
  /// of threads.
  void learn_rotation(std::span<const float> padded_rows, int64_t num_codes, uint64_t seed,
                      int num_threads);
  /// Rows of key width, padded.
  std::vector<float> pad(std::span<const float> keys) const;
  /// Turns padded rows in place.
  void rotate(std::span<float> padded_rows, int num_threads) const;
  /// Both.
  std::vector<float> apply(std::span<const float> keys, int num_threads) const;

  void write_rotation(const std::filesystem::path& path, const std::string& made_from) const;
  /// Throws Error naming a file that is damaged, of another width or made from something else.
  void read_rotation(const std::filesystem::path& path, const std::string& made_from);

 private:
  int64_t key_width_;
  int64_t list_width_;
  /// Row i is where feature i goes; empty: nowhere.
  std::vector<float> rotation_;
};

}  // namespace retro
