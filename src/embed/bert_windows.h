// How texts of any length become windows that a BERT can read, and windows become blocks of work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retro {

/// Pieces first..first+count-1 of one text; special tokens are added around them later.
struct PieceWindow {
  int64_t text = 0;
  int64_t first = 0;
  int64_t count = 0;
};

/// Consecutive windows of at most `longest` pieces; none for an empty text.
std::vector<PieceWindow> split_windows(std::span<const int64_t> pieces_of_text, int64_t longest);

/// Windows begin..end-1 are one forward pass.
struct WindowBlock {
  size_t begin = 0;
  size_t end = 0;
};

/// Blocks of about `block_pieces` pieces, at least one for each of `num_threads` threads where
/// there are windows enough.
std::vector<WindowBlock> split_blocks(std::span<const PieceWindow> windows, int64_t block_pieces,
                                      int64_t num_threads);

}  // namespace retro
