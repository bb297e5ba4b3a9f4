// The lock of a database's one writer: `DATABASE.lock` beside the directory.
#pragma once

#include <filesystem>

#include "retro/core/file_lock.h"

namespace retro {

/// Throws Error while another process changes the database, and for one in a bundle.
FileLock lock_database(const std::filesystem::path& directory);

}  // namespace retro
