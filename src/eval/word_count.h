// Words of the evaluated text, for perplexities that other papers state.
#pragma once

#include <cstdint>
#include <vector>

#include "retro/text/chunker.h"

namespace retro {

/// Words that begin in each row of the grid: runs of bytes other than ASCII white space (space,
/// tab, line feed, vertical tab, form feed, carriage return).
std::vector<int64_t> words_of_rows(const ChunkGrid& grid, const Tokenizer& tokenizer);

}  // namespace retro
