// Where the neighbours of a chunk come from: the stored table, a control, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "retro/core/random.h"
#include "retro/retrieval/chunk_values.h"
#include "retro/retrieval/neighbour_filter.h"
#include "retro/retrieval/neighbour_table.h"

namespace retro {

/// Fills the K values of a chunk of a grid. Thread-safe.
class NeighbourSource {
 public:
  virtual ~NeighbourSource() = default;
  /// values_KR: k rows of 2m ids, -1 padded; a missing neighbour is all -1.
  virtual void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const = 0;
  /// The same for sequence number `sequence` of a training, which reads a chunk again in every
  /// epoch: a source that draws its values draws them anew.
  virtual void copy_values_anew(int64_t row, int64_t /*sequence*/, int64_t k,
                                std::span<int32_t> values_KR) const {
    copy_values(row, k, values_KR);
  }
  virtual std::string name() const = 0;
};

/// Rank 0..k-1 of the stored table.
class TableNeighbours final : public NeighbourSource {
 public:
  TableNeighbours(const NeighbourTable& table, const ChunkValues& values, std::string name = "on");
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override;
  std::string name() const override { return name_; }

 private:
  const NeighbourTable* table_;
  const ChunkValues* values_;
  std::string name_;
};

/// k distinct database chunks per chunk, own document excluded, seeded by (seed, row) as a control
/// (METHOD section 6) and by (seed, sequence, row) in training (section 4).
class RandomNeighbours final : public NeighbourSource {
 public:
  RandomNeighbours(const ChunkGrid& grid, const RetrievalDatabase& database, uint64_t seed);
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override;
  void copy_values_anew(int64_t row, int64_t sequence, int64_t k,
                        std::span<int32_t> values_KR) const override;
  std::string name() const override { return "random"; }

 private:
  void draw_values(RandomStream& random, int64_t row, int64_t k,
                   std::span<int32_t> values_KR) const;

  const RetrievalDatabase* database_;
  std::vector<QueryOrigin> origin_of_document_;
  const ChunkGrid* grid_;
  uint64_t seed_;
};

/// Leaked control: rank 0 is the chunk itself with its true continuation, then the table's ranks
/// (built without exclusion).
class LeakedNeighbours final : public NeighbourSource {
 public:
  LeakedNeighbours(const ChunkGrid& grid, const NeighbourTable& table, const ChunkValues& values);
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override;
  std::string name() const override { return "leaked"; }

 private:
  const ChunkGrid* grid_;
  const NeighbourTable* table_;
  const ChunkValues* values_;
};

/// The value [N, F] of a grid's own chunk, re-cut `jitter` tokens later (negative: earlier) within
/// its document.
void copy_own_value(const ChunkGrid& grid, int64_t row, int64_t jitter, std::span<int32_t> value_R);

}  // namespace retro
