// What a frozen base computes below its first retro layer, kept on disk from one epoch to the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>

#include "retro/data/batch.h"
#include "retro/model/retro_model.h"

namespace retro {

/// One record for each sequence, found by the hash of its tokens, mask and documents. A file of
/// another base, precision or shape is begun anew; a record that a crash has torn or a disk has
/// damaged is computed again. The file belongs to one process.
class FrozenCache {
 public:
  /// For sequences of `length` tokens. Throws Error naming the path where it cannot be written.
  FrozenCache(std::filesystem::path path, const RetroModel& model, int64_t length);

  /// RetroModelImpl::frozen_stream of the batch, [B, N, D], float32 on the CPU, bit for bit;
  /// computes and stores what the file does not hold. Throws Error when the disk is full.
  at::Tensor stream(RetroModel& model, const Batch& batch);

  int64_t num_stored() const { return static_cast<int64_t>(places_.size()); }
  int64_t num_read() const { return num_read_; }
  /// Of one sequence in the file.
  int64_t record_bytes() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  bool open_existing();
  void begin_file();
  void index_records();
  bool read(const std::string& key, float* values_ND);
  void append(const std::string& key, const float* values_ND);
  int64_t value_bytes() const { return length_ * width_ * static_cast<int64_t>(sizeof(float)); }

  std::filesystem::path path_;
  int64_t length_;
  int64_t width_;
  std::string identity_;
  std::fstream file_;
  std::unordered_map<std::string, int64_t> places_;  ///< byte offset of each key's record
  int64_t end_ = 0;
  int64_t num_read_ = 0;
};

}  // namespace retro
