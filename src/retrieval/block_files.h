// Array files that grow together block by block, so that a killed build goes on at the last
// finished block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/core/array_file.h"

namespace retro {

/// Rows [0, num_rows) in blocks of `block_rows`. Each block is one small array file for each of
/// `files`, written atomically and named by its rows; `join` makes one file of all of them, the
/// same as if written in one go.
class BlockFiles {
 public:
  struct File {
    std::string name;
    ArrayHeader header;
  };

  BlockFiles(std::filesystem::path directory, std::vector<File> files, int64_t num_rows,
             int64_t block_rows);

  int64_t num_blocks() const { return (num_rows_ + block_rows_ - 1) / block_rows_; }
  int64_t first_row(int64_t block) const { return block * block_rows_; }
  int64_t end_row(int64_t block) const { return std::min(num_rows_, (block + 1) * block_rows_); }
  /// All joined files are there.
  bool is_joined() const;
  /// All files of the block are there: the last of the list is written last.
  bool has_block(int64_t block) const;
  /// For file number `file` of a block; write the files in order.
  ArrayFileWriter open_block(int64_t block, size_t file) const;
  /// Where file number `file` of a block lies until the join.
  std::filesystem::path block_path(int64_t block, size_t file) const {
    return path_of(block, files_[file]);
  }
  /// Joins the blocks unless that was done before, and removes them (also those of another block
  /// size).
  void join() const;

 private:
  std::filesystem::path path_of(int64_t block, const File& file) const;
  void join_file(const File& file) const;

  std::filesystem::path directory_;
  std::vector<File> files_;
  int64_t num_rows_;
  int64_t block_rows_;
};

}  // namespace retro
