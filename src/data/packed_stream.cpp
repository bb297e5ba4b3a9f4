#include "retro/data/packed_stream.h"

#include <algorithm>
#include <utility>

#include "retro/core/error.h"

namespace retro {

PackedStream::PackedStream(const ChunkGrid& grid, std::vector<int64_t> order)
    : grid_(&grid), order_(std::move(order)) {
  first_slot_.reserve(order_.size() + 1);
  first_slot_.push_back(0);
  for (const int64_t d : order_) {
    RETRO_CHECK(d >= 0 && d < grid.num_documents(),
                "packed stream: document {} is not one of the grid's {}", d, grid.num_documents());
    const int64_t num_rows = d + 1 < grid.num_documents()
                                 ? grid.first_row(d + 1) - grid.first_row(d)
                                 : grid.num_rows() - grid.first_row(d);
    first_slot_.push_back(first_slot_.back() + num_rows);
  }
}

int64_t PackedStream::document(int64_t slot) const {
  if (slot <= 0 || slot >= num_slots()) return -1;
  // The last document that begins at or before the slot; empty documents have no slot of their own.
  const auto after = std::upper_bound(first_slot_.begin(), first_slot_.end(), slot - 1);
  return static_cast<int64_t>(after - first_slot_.begin()) - 1;
}

int64_t PackedStream::row(int64_t slot) const {
  if (slot == 0) return kLeadChunk;
  const int64_t place = document(slot);
  if (place < 0) return kFillChunk;
  const int64_t chunk = slot - 1 - first_slot_[static_cast<size_t>(place)];
  return grid_->first_row(order_[static_cast<size_t>(place)]) + chunk;
}

int64_t PackedStream::num_sequences(int64_t chunks_per_sequence) const {
  RETRO_CHECK(chunks_per_sequence > 0, "chunks per sequence must be at least 1, found {}",
              chunks_per_sequence);
  return (num_slots() + chunks_per_sequence - 1) / chunks_per_sequence;
}

namespace {

/// All positions masked, carrying the end-of-document id.
SlotTokens masked_slot(int64_t chunk_length, int32_t end_of_document) {
  const auto m = static_cast<size_t>(chunk_length);
  return {std::vector<int32_t>(m, end_of_document), std::vector<uint8_t>(m, 0),
          std::vector<uint16_t>(m, 0)};
}

/// On a shifted grid the first chunk of a document stands at the right end of its place.
int64_t left_fill(const ChunkGrid& grid, const ChunkSpan& span) {
  return span.first_token == 0 ? grid.shift() : 0;
}

void fill_document_chunk(const ChunkGrid& grid, int64_t row, SlotTokens& slot) {
  const auto tokens = grid.tokens(row);
  const auto bytes = grid.token_bytes(row);
  const auto begin = static_cast<size_t>(left_fill(grid, grid.span(row)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    slot.ids[begin + i] = static_cast<int32_t>(tokens[i]);
    slot.is_real[begin + i] = 1;
    slot.bytes[begin + i] = bytes[i];
  }
  // Only a document's last chunk is short: it has room for the end-of-document token, which covers
  // no byte.
  const size_t end = begin + tokens.size();
  if (end < slot.is_real.size()) slot.is_real[end] = 1;
}

}  // namespace

SlotTokens slot_tokens(const PackedStream& stream, int64_t slot, int32_t end_of_document) {
  SlotTokens out = masked_slot(stream.grid().chunk_length(), end_of_document);
  const int64_t row = stream.row(slot);
  if (row == kLeadChunk) {
    out.is_real.back() = 1;
  } else if (row != kFillChunk) {
    fill_document_chunk(stream.grid(), row, out);
  }
  return out;
}

}  // namespace retro
