#include "block_files.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "retro/core/error.h"

namespace retro {
namespace {

constexpr const char* kBlockPrefix = "block_";

}  // namespace

namespace fs = std::filesystem;

BlockFiles::BlockFiles(fs::path directory, std::vector<File> files, int64_t num_rows,
                       int64_t block_rows)
    : directory_(std::move(directory)),
      files_(std::move(files)),
      num_rows_(num_rows),
      block_rows_(block_rows) {
  RETRO_CHECK(block_rows > 0, "a block of {} chunks is not possible", block_rows);
}

fs::path BlockFiles::path_of(int64_t block, const File& file) const {
  return directory_ / fmt::format("{}{:012}_{:012}.{}", kBlockPrefix, first_row(block),
                                  end_row(block), file.name);
}

bool BlockFiles::is_joined() const {
  return std::ranges::all_of(files_,
                             [&](const File& file) { return fs::exists(directory_ / file.name); });
}

bool BlockFiles::has_block(int64_t block) const {
  return fs::exists(path_of(block, files_.back()));
}

ArrayFileWriter BlockFiles::open_block(int64_t block, size_t file) const {
  return {path_of(block, files_[file]), files_[file].header};
}

void BlockFiles::join_file(const File& file) const {
  ArrayFileWriter joined(directory_ / file.name, file.header);
  for (int64_t block = 0; block < num_blocks(); ++block) {
    const ArrayFile part(path_of(block, file), {.kind = file.header.kind,
                                                .type = file.header.type,
                                                .version = file.header.version,
                                                .source_hash = file.header.source_hash,
                                                .columns = file.header.columns});
    part.verify();
    joined.append_bytes(part.payload());
  }
  joined.commit();
}

void BlockFiles::join() const {
  if (!is_joined()) {
    for (const File& file : files_) join_file(file);
  }
  std::vector<fs::path> blocks;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (entry.path().filename().string().starts_with(kBlockPrefix)) blocks.push_back(entry.path());
  }
  for (const fs::path& block : blocks) fs::remove(block);
}

}  // namespace retro
