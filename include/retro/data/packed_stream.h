// Documents laid end to end in chunks: lead chunk, then every chunk of every document (METHOD
// section 4).
#pragma once

#include <cstdint>
#include <vector>

#include "retro/text/chunker.h"

namespace retro {

/// One position slot of m tokens: row of the grid, or kLeadChunk / kFillChunk.
inline constexpr int64_t kLeadChunk = -2;
inline constexpr int64_t kFillChunk = -1;

/// A stream over the grid's documents in `order` (positions within the grid). Slot 0 is the lead
/// chunk. Memory: per document, not per chunk.
class PackedStream {
 public:
  PackedStream(const ChunkGrid& grid, std::vector<int64_t> order);

  int64_t num_slots() const { return 1 + first_slot_.back(); }
  /// kFillChunk past the end.
  int64_t row(int64_t slot) const;
  /// Position in `order` of the slot's document; -1 for lead and fill.
  int64_t document(int64_t slot) const;
  /// ceil(num_slots / chunks_per_sequence).
  int64_t num_sequences(int64_t chunks_per_sequence) const;
  const ChunkGrid& grid() const { return *grid_; }

 private:
  const ChunkGrid* grid_;
  std::vector<int64_t> order_;
  std::vector<int64_t>
      first_slot_;  ///< of each document, lead chunk not counted; one more than order_
};

/// The m positions of a slot: ids, which are real, their source bytes.
struct SlotTokens {
  std::vector<int32_t> ids;
  std::vector<uint8_t> is_real;
  std::vector<uint16_t> bytes;
};
SlotTokens slot_tokens(const PackedStream& stream, int64_t slot, int32_t end_of_document);

}  // namespace retro
