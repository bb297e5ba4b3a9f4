// The keys that one of several processes makes, for its own part of a neighbour table.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "retro/retrieval/neighbour_table.h"

namespace retro {

/// Rows of a block of keys, and of a neighbour table: a process that has made a block of the one
/// can make that of the other.
inline constexpr int64_t kGridBlockRows = 8192;

/// Keys of grid rows from `first_row` on.
struct KeyRows {
  std::shared_ptr<const GridKeys> keys;
  int64_t first_row = 0;

  bool has_key(int64_t row) const {
    return keys->has_key.values<uint8_t>()[static_cast<size_t>(row - first_row)] != 0;
  }
  std::span<const float> key(int64_t row) const {
    return keys->keys.row<float>(static_cast<uint64_t>(row - first_row));
  }
};

/// The keys of a block of rows.
using KeyRowsOfBlock = std::function<KeyRows(int64_t block)>;

struct GridKeyPart {
  std::string made_from;  ///< as in the header of the joined files
  KeyRowsOfBlock open;    ///< for the blocks of the part
};

/// Blocks part.index, part.index + part.count, ... of what `load_or_embed_keys` makes, left in
/// DIRECTORY.partial for it to join.
GridKeyPart embed_grid_keys_part(const ChunkGrid& grid, const RetrievalDatabase& database,
                                 const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                                 const BuildPart& part, const std::filesystem::path& directory);

}  // namespace retro
