#include "retro/eval/example_pieces.h"

#include <algorithm>

#include "retro/generate/text_stream.h"

namespace retro {

std::vector<ExamplePiece> example_pieces(std::span<const MarkedToken> tokens,
                                         const Tokenizer& tokenizer) {
  std::vector<ExamplePiece> pieces;
  Utf8Stream stream;
  ExamplePiece piece;
  bool is_open = false;
  for (const MarkedToken& token : tokens) {
    ++piece.num_tokens;
    piece.run = std::max<int64_t>(piece.run, token.run);
    piece.nats_off = is_open ? piece.nats_off + token.nats_off : token.nats_off;
    piece.nats_on = is_open ? piece.nats_on + token.nats_on : token.nats_on;
    is_open = true;
    piece.text = stream.push(tokenizer.decode({&token.id, 1}));
    if (piece.text.empty()) continue;
    pieces.push_back(std::move(piece));
    piece = {};
    is_open = false;
  }
  piece.text = stream.finish();
  if (!piece.text.empty()) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<ExamplePiece> value_pieces(std::span<const int32_t> value_R,
                                       std::span<const int32_t> runs, size_t begin,
                                       const Tokenizer& tokenizer) {
  std::vector<MarkedToken> tokens;
  for (size_t i = begin; i < begin + value_R.size() / 2 && value_R[i] >= 0; ++i)
    tokens.push_back({.id = value_R[i], .run = runs[i]});
  return example_pieces(tokens, tokenizer);
}

}  // namespace retro
