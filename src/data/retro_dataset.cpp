#include "retro/data/retro_dataset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "retro/core/error.h"

namespace retro {

namespace {

/// Writes one sequence into row b of a batch.
class SequenceWriter {
 public:
  SequenceWriter(const PackedStream& stream, int32_t end_of_document, int64_t num_chunks,
                 Batch& batch)
      : stream_(stream),
        end_of_document_(end_of_document),
        num_chunks_(num_chunks),
        m_(stream.grid().chunk_length()),
        batch_(batch) {}

  /// Targets of the first `first_scored_chunk` chunks' positions are not scored.
  void write(int64_t b, int64_t first_slot, int64_t first_scored_chunk) {
    SlotTokens slot = slot_tokens(stream_, first_slot, end_of_document_);
    for (int64_t u = 0; u < num_chunks_; ++u) {
      const int64_t s = first_slot + u;
      SlotTokens following = slot_tokens(stream_, s + 1, end_of_document_);
      write_inputs(b, u, s, slot);
      if (u >= first_scored_chunk) write_targets(b, u, s, slot, following);
      slot = std::move(following);
    }
  }

 private:
  template <class T>
  T* at(at::Tensor& tensor, int64_t b, int64_t chunk) {
    return tensor.data_ptr<T>() + (b * num_chunks_ + chunk) * m_;
  }

  void write_inputs(int64_t b, int64_t u, int64_t s, const SlotTokens& slot) {
    const int64_t row = stream_.row(s);
    batch_.chunk_row_BL.data_ptr<int64_t>()[b * num_chunks_ + u] = std::max<int64_t>(row, -1);
    std::fill_n(at<int64_t>(batch_.document_BN, b, u), m_, stream_.document(s));
    std::copy(slot.ids.begin(), slot.ids.end(), at<int64_t>(batch_.tokens_BN, b, u));
    std::copy(slot.is_real.begin(), slot.is_real.end(), at<bool>(batch_.real_BN, b, u));
  }

  /// The target of a position is the stream's next token, wherever that stands.
  void write_targets(int64_t b, int64_t u, int64_t s, const SlotTokens& slot,
                     const SlotTokens& following) {
    for (int64_t i = 0; i < m_; ++i) {
      const bool is_last = i == m_ - 1;
      const SlotTokens& source = is_last ? following : slot;
      const auto j = static_cast<size_t>(is_last ? 0 : i + 1);
      if (source.is_real[j] == 0) continue;
      // The lead chunk's own token opens the stream: it is read, never predicted.
      const int64_t row = stream_.row(is_last ? s + 1 : s);
      if (row < 0) continue;
      at<int64_t>(batch_.targets_BN, b, u)[i] = source.ids[j];
      at<bool>(batch_.target_is_real_BN, b, u)[i] = true;
      at<int32_t>(batch_.target_bytes_BN, b, u)[i] = source.bytes[j];
      at<int64_t>(batch_.target_row_BN, b, u)[i] = row;
      ++batch_.num_targets;
    }
  }

  const PackedStream& stream_;
  int32_t end_of_document_;
  int64_t num_chunks_;
  int64_t m_;
  Batch& batch_;
};

Batch empty_batch(int64_t num_sequences, int64_t num_chunks, int64_t chunk_length) {
  const int64_t n = num_chunks * chunk_length;
  Batch batch;
  batch.tokens_BN = at::zeros({num_sequences, n}, at::kLong);
  batch.real_BN = at::zeros({num_sequences, n}, at::kBool);
  batch.targets_BN = at::zeros({num_sequences, n}, at::kLong);
  batch.target_is_real_BN = at::zeros({num_sequences, n}, at::kBool);
  batch.target_bytes_BN = at::zeros({num_sequences, n}, at::kInt);
  batch.target_row_BN = at::full({num_sequences, n}, -1, at::kLong);
  batch.document_BN = at::full({num_sequences, n}, -1, at::kLong);
  batch.chunk_row_BL = at::full({num_sequences, num_chunks}, -1, at::kLong);
  return batch;
}

void attach_neighbours(const NeighbourSource& source, int64_t k, int64_t chunk_length,
                       Batch& batch) {
  const int64_t num_sequences = batch.chunk_row_BL.size(0);
  const int64_t num_chunks = batch.chunk_row_BL.size(1);
  const int64_t r = 2 * chunk_length;
  batch.neighbours_BLKR = at::full({num_sequences, num_chunks, k, r}, kMissing, at::kLong);
  const int64_t* rows = batch.chunk_row_BL.const_data_ptr<int64_t>();
  int64_t* out = batch.neighbours_BLKR.data_ptr<int64_t>();
  std::vector<int32_t> values_KR(static_cast<size_t>(k * r));
  for (int64_t c = 0; c < num_sequences * num_chunks; ++c) {
    if (rows[c] < 0) continue;
    source.copy_values(rows[c], k, values_KR);
    std::copy(values_KR.begin(), values_KR.end(), out + c * k * r);
  }
}

Batch assemble(const PackedStream& stream, int32_t end_of_document, const BatchRequest& request,
               const std::function<int64_t(int64_t slot)>& first_scored_chunk) {
  RETRO_CHECK(request.chunks_per_sequence > 0, "chunks per sequence must be at least 1, found {}",
              request.chunks_per_sequence);
  const int64_t m = stream.grid().chunk_length();
  const auto num_sequences = static_cast<int64_t>(request.first_slots.size());
  Batch batch = empty_batch(num_sequences, request.chunks_per_sequence, m);
  SequenceWriter writer(stream, end_of_document, request.chunks_per_sequence, batch);
  for (int64_t b = 0; b < num_sequences; ++b) {
    const int64_t slot = request.first_slots[static_cast<size_t>(b)];
    writer.write(b, slot, first_scored_chunk(slot));
  }
  if (request.neighbours != nullptr && request.k > 0) {
    attach_neighbours(*request.neighbours, request.k, m, batch);
  }
  return batch;
}

/// Chunks by which a window moves on: l (1 - overlap), or 0 when that is not a whole number of at
/// least 1.
int64_t whole_stride(int64_t chunks_per_sequence, double overlap) {
  const double stride = static_cast<double>(chunks_per_sequence) * (1.0 - overlap);
  const double rounded = std::round(stride);
  return std::abs(stride - rounded) < 1e-9 ? static_cast<int64_t>(rounded) : 0;
}

std::vector<int64_t> in_order(const ChunkGrid& grid) {
  std::vector<int64_t> order(static_cast<size_t>(grid.num_documents()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

int64_t window_stride(int64_t chunks_per_sequence, int64_t chunk_length, double overlap) {
  RETRO_CHECK(overlap >= 0.0 && overlap < 1.0,
              "overlap of the windows must be at least 0 and below 1, found {}", overlap);
  const int64_t stride = whole_stride(chunks_per_sequence, overlap);
  if (stride > 0) return stride;
  constexpr int64_t kLongestSearched = 10'000;
  int64_t smallest = 1;
  while (smallest < kLongestSearched && whole_stride(smallest, overlap) == 0) ++smallest;
  const std::string advice =
      smallest < kLongestSearched
          ? fmt::format("the smallest length is {} tokens", smallest * chunk_length)
          : "no length fits";
  RETRO_CHECK(false,
              "windows of {} tokens with overlap {} do not move by whole chunks of {} tokens: {}",
              chunks_per_sequence * chunk_length, overlap, chunk_length, advice);
  return 0;
}

Batch make_batch(const PackedStream& stream, int32_t end_of_document, const BatchRequest& request) {
  return assemble(stream, end_of_document, request, [](int64_t) -> int64_t { return 0; });
}

EvaluationDataset::EvaluationDataset(const ChunkGrid& grid, int32_t end_of_document,
                                     int64_t chunks_per_sequence, double overlap)
    : grid_(&grid),
      stream_(grid, in_order(grid)),
      end_of_document_(end_of_document),
      chunks_per_sequence_(chunks_per_sequence),
      stride_chunks_(window_stride(chunks_per_sequence, grid.chunk_length(), overlap)) {}

int64_t EvaluationDataset::num_sequences() const {
  const int64_t beyond_first = std::max<int64_t>(stream_.num_slots() - chunks_per_sequence_, 0);
  return 1 + (beyond_first + stride_chunks_ - 1) / stride_chunks_;
}

Batch EvaluationDataset::batch(int64_t first, int64_t count, const NeighbourSource* source,
                               int64_t k) const {
  std::vector<int64_t> sequences(static_cast<size_t>(count));
  std::iota(sequences.begin(), sequences.end(), first);
  return batch(sequences, source, k);
}

Batch EvaluationDataset::batch(std::span<const int64_t> sequences, const NeighbourSource* source,
                               int64_t k) const {
  std::vector<int64_t> first_slots;
  for (const int64_t sequence : sequences) {
    RETRO_CHECK(sequence >= 0 && sequence < num_sequences(),
                "evaluation sequence {} of {} does not exist", sequence, num_sequences());
    first_slots.push_back(sequence * stride_chunks_);
  }
  const BatchRequest request{first_slots, chunks_per_sequence_, k, source};
  // What an earlier window scored is context now.
  return assemble(stream_, end_of_document_, request, [this](int64_t slot) -> int64_t {
    return slot == 0 ? 0 : chunks_per_sequence_ - stride_chunks_;
  });
}

}  // namespace retro
