#include "word_count.h"

namespace retro {

namespace {

bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

}  // namespace

std::vector<int64_t> words_of_rows(const ChunkGrid& grid, const Tokenizer& tokenizer) {
  std::vector<int64_t> words(static_cast<size_t>(grid.num_rows()), 0);
  bool follows_space = true;
  for (int64_t row = 0; row < grid.num_rows(); ++row) {
    if (grid.span(row).first_token == 0) follows_space = true;
    const auto tokens = grid.tokens(row);
    const std::vector<int32_t> ids(tokens.begin(), tokens.end());
    for (const char byte : tokenizer.decode(ids)) {
      words[static_cast<size_t>(row)] += follows_space && !is_space(byte);
      follows_space = is_space(byte);
    }
  }
  return words;
}

}  // namespace retro
