// Sequences of a stream turned into batches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "retro/data/batch.h"
#include "retro/data/neighbour_source.h"
#include "retro/data/packed_stream.h"

namespace retro {

/// What a batch is made of. `neighbours` null or k = 0: retrieval off.
struct BatchRequest {
  std::span<const int64_t> first_slots;  ///< first slot of each sequence
  int64_t chunks_per_sequence = 4;       ///< l
  int64_t k = 0;
  const NeighbourSource* neighbours = nullptr;
};

/// Assembles a batch; pure function of its arguments.
Batch make_batch(const PackedStream& stream, int32_t end_of_document, const BatchRequest& request);

/// Chunks by which windows of `chunks_per_sequence` chunks move on when they share `overlap` of
/// their length with the one before. Throws Error naming the smallest length that fits when that is
/// no whole number (METHOD section 6).
int64_t window_stride(int64_t chunks_per_sequence, int64_t chunk_length, double overlap);

/// The evaluation stream of a grid: documents in grid order, sequences in order; only new tokens
/// are scored when windows overlap (METHOD section 6: the stride must be a multiple of m). Every
/// real target of the stream is scored exactly once.
class EvaluationDataset {
 public:
  EvaluationDataset(const ChunkGrid& grid, int32_t end_of_document, int64_t chunks_per_sequence,
                    double overlap = 0.0);
  int64_t num_sequences() const;
  /// Sequences [first, first + count), the neighbours from `source`.
  Batch batch(int64_t first, int64_t count, const NeighbourSource* source, int64_t k) const;
  /// Any sequences, in the given order.
  Batch batch(std::span<const int64_t> sequences, const NeighbourSource* source, int64_t k) const;
  const ChunkGrid& grid() const { return *grid_; }

 private:
  const ChunkGrid* grid_;
  PackedStream stream_;
  int32_t end_of_document_;
  int64_t chunks_per_sequence_;
  int64_t stride_chunks_;
};

}  // namespace retro
