// What `retro database verify` compares: every byte with its checksum. (The database's own part is
// RetrievalDatabase::verify.)
#pragma once

#include <filesystem>
#include <string>

#include "retro/retrieval/neighbour_table.h"

namespace retro {

/// Every file of the index in `directory`. Throws Error naming the damaged one.
void verify_index(const std::filesystem::path& directory);

/// The table in `directory` of this grid, whatever state of the database it was computed from,
/// which is returned. Throws Error naming the damaged file.
std::string verify_neighbour_table(const std::filesystem::path& directory,
                                   const std::string& grid_hash);

/// The keys that `open_grid_keys` opens. Throws Error naming the damaged file.
void verify_grid_keys(const GridKeys& keys);

}  // namespace retro
