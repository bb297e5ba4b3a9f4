#include "retro/retrieval/writer_lock.h"

#include "retro/core/bundle.h"

namespace retro {

namespace fs = std::filesystem;

FileLock lock_database(const fs::path& directory) {
  const fs::path path = directory.has_filename() ? directory : directory.parent_path();
  refuse_bundle(path);
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  return {path.string() + ".lock", path.string()};
}

}  // namespace retro
