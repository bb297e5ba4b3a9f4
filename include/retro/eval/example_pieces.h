// Tokens as the report's browser shows them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "retro/text/tokenizer.h"

namespace retro {

/// A token with the longest common run that ends at it and its losses; NaN: not scored.
struct MarkedToken {
  int32_t id = 0;
  int32_t run = 0;
  double nats_off = std::numeric_limits<double>::quiet_NaN();
  double nats_on = std::numeric_limits<double>::quiet_NaN();
};

/// A piece of text with the longest common run that ends at it; `text` is whole UTF-8 characters
/// (tokens that hold a part of a character are joined with the following ones, losses added).
struct ExamplePiece {
  std::string text;
  int64_t num_tokens = 0;  ///< joined in it, at least 1; `run` counts tokens
  int64_t run = 0;
  double nats_off = 0;  ///< losses of a chunk's pieces; NaN in neighbours
  double nats_on = 0;
};

std::vector<ExamplePiece> example_pieces(std::span<const MarkedToken> tokens,
                                         const Tokenizer& tokenizer);

/// The pieces of a value's half that begins at `begin` (0: N, m: F), without padding. `runs` go
/// with the value's tokens.
std::vector<ExamplePiece> value_pieces(std::span<const int32_t> value_R,
                                       std::span<const int32_t> runs, size_t begin,
                                       const Tokenizer& tokenizer);

}  // namespace retro
