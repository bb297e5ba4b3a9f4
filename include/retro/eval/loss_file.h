// Per-token losses of one evaluation pass, on disk: NAME.eval (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "retro/core/array_file.h"

namespace retro {

/// A pass over the chunk grid: which system read it. kind: baseline (or another baseline's name) |
/// on | off | random | leaked | counterpart_removed. variant: "", "w87.5" (windows that overlap by
/// 87.5 %) or "d10" (10 % of the database's documents).
struct ColumnKey {
  std::string kind;
  int64_t k = 0;
  int64_t shift = 0;
  std::string variant = {};
  /// "on.k2.s4", "on.k2.s0.w50": the file's stem, and its name in JSON.
  std::string name() const;
  auto operator<=>(const ColumnKey&) const = default;
};

/// The reverse of ColumnKey::name. Throws Error for anything else.
ColumnKey parse_column(const std::string& name);

/// What a stored pass says of itself; a pass with an equal description is not run again.
struct LossDescription {
  ColumnKey column;
  std::string model;  ///< hash of the weights
  std::string grid_hash;
  std::string neighbours;  ///< name and version of the neighbour table, or "none"
  int64_t chunk_length = 0;
  int64_t sequence_length = 0;
  double window_overlap = 0;
  int64_t max_chunks_per_document = 0;
  int64_t seed = 0;
  bool operator==(const LossDescription&) const = default;
};

/// Read side, memory-mapped. Row = ChunkGrid row of that pass's own (possibly shifted) grid.
class LossFile {
 public:
  /// Throws Error for an incomplete, truncated or foreign file.
  explicit LossFile(const std::filesystem::path& path);

  const LossDescription& description() const { return description_; }
  int64_t num_rows() const { return static_cast<int64_t>(nats_.rows()); }
  /// m values: nats of the row's targets in order, the end-of-document token last; NaN where
  /// nothing was scored.
  std::span<const float> token_nats(int64_t row) const {
    return nats_.row<float>(static_cast<uint64_t>(row));
  }
  /// Raw bytes of the row's scored targets; 0 for a row that was not scored.
  int64_t bytes(int64_t row) const { return bytes_.values<uint32_t>()[static_cast<size_t>(row)]; }
  bool is_scored(int64_t row) const { return token_nats(row)[0] == token_nats(row)[0]; }
  /// Sum over the row's targets (its end-of-document token included), in double.
  double nats(int64_t row) const;

 private:
  LossDescription description_;
  ArrayFile nats_;
  ArrayFile bytes_;
};

/// True if `path` holds a readable pass with an equal description.
bool is_loss_file_current(const std::filesystem::path& path, const LossDescription& description);

/// Streams rows in ascending order; rows left out are stored as not scored.
class LossFileWriter {
 public:
  /// Writes into the existing `directory`; `write_loss_file` is the door.
  LossFileWriter(const std::filesystem::path& directory, LossDescription description,
                 int64_t num_rows);
  /// One scored target of `row`, in stream order.
  void add(int64_t row, float nats, int64_t bytes);
  void commit();

 private:
  void flush_until(int64_t row);
  LossDescription description_;
  int64_t num_rows_;
  int64_t row_ = 0;  ///< the row being filled
  int64_t num_in_row_ = 0;
  int64_t row_bytes_ = 0;
  std::vector<float> row_nats_;
  std::filesystem::path directory_;
  ArrayFileWriter nats_;
  ArrayFileWriter bytes_;
};

/// Calls `fill` and makes `path` appear, complete; when `fill` throws, nothing changes.
void write_loss_file(const std::filesystem::path& path, const LossDescription& description,
                     int64_t num_rows, const std::function<void(LossFileWriter&)>& fill);

}  // namespace retro
