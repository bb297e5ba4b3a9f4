#include "bert_windows.h"

#include <algorithm>

namespace retro {

std::vector<PieceWindow> split_windows(std::span<const int64_t> pieces_of_text, int64_t longest) {
  std::vector<PieceWindow> windows;
  for (size_t text = 0; text < pieces_of_text.size(); ++text) {
    for (int64_t first = 0; first < pieces_of_text[text]; first += longest) {
      windows.push_back(
          {static_cast<int64_t>(text), first, std::min(longest, pieces_of_text[text] - first)});
    }
  }
  return windows;
}

std::vector<WindowBlock> split_blocks(std::span<const PieceWindow> windows, int64_t block_pieces,
                                      int64_t num_threads) {
  int64_t total = 0;
  for (const PieceWindow& window : windows) total += window.count;
  const int64_t wanted = std::max((total + block_pieces - 1) / block_pieces,
                                  std::min(num_threads, static_cast<int64_t>(windows.size())));
  std::vector<WindowBlock> blocks;
  int64_t done = 0, share = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    // A block ends where the pieces handed out reach its share of all; a window larger than a share
    // takes the shares it covers.
    if (blocks.empty() || done * wanted >= share * total) {
      blocks.push_back({w, w});
      share = done * wanted / std::max<int64_t>(1, total) + 1;
    }
    blocks.back().end = w + 1;
    done += windows[w].count;
  }
  return blocks;
}

}  // namespace retro
