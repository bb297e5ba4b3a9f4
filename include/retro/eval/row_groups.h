// The evaluated chunks by source, by part of a source, and all together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/text/chunker.h"

namespace retro {

/// True if the chunk begins within the first max_chunks_per_document * m tokens of its document (0:
/// always).
bool is_row_wanted(const ChunkGrid& grid, int64_t row, int64_t max_chunks_per_document);

/// Rows ascend. `source` is "all" for the last group.
struct RowGroup {
  std::string source;
  std::string part;
  std::vector<int64_t> rows;
};

/// Sources in grid order, each followed by its parts: the values of its documents' field
/// `breakdown`, sorted (documents without that field are in the source alone); "all" last. Every
/// wanted row (see is_row_wanted) is in exactly one source and in "all".
std::vector<RowGroup> row_groups(const ChunkGrid& grid, const std::string& breakdown,
                                 int64_t max_chunks_per_document);

}  // namespace retro
