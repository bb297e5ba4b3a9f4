// Array files that grow together block by block, so that a killed build goes on at the last
// finished block.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/core/array_file.h"

namespace retro {

/// Each block is one small array file for each of `files`, written atomically; `join` makes one
/// file of all of them, the same as if written in one go.
class BlockFiles {
 public:
  struct File {
    std::string name;
    ArrayHeader header;
  };

  BlockFiles(std::filesystem::path directory, std::vector<File> files, int64_t num_blocks);

  /// All joined files are there.
  bool is_joined() const;
  /// All files of the block are there: the last of the list is written last.
  bool has_block(int64_t block) const;
  /// For file number `file` of a block; write the files in order.
  ArrayFileWriter open_block(int64_t block, size_t file) const;
  /// Joins the blocks unless that was done before, and removes them.
  void join() const;

 private:
  std::filesystem::path block_path(int64_t block, const File& file) const;
  void join_file(const File& file) const;

  std::filesystem::path directory_;
  std::vector<File> files_;
  int64_t num_blocks_;
};

}  // namespace retro
