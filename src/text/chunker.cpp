#include "retro/text/chunker.h"

#include <algorithm>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/utf8.h"

namespace retro {
namespace {

void check_grid(int64_t chunk_length, int64_t shift) {
  RETRO_CHECK(chunk_length > 0, "chunk length is {}, expected at least 1", chunk_length);
  RETRO_CHECK(shift >= 0 && shift < chunk_length, "shift of the chunk grid is {}, expected 0 to {}",
              shift, chunk_length - 1);
}

}  // namespace

int64_t num_chunks(int64_t num_tokens, int64_t chunk_length, int64_t shift) {
  check_grid(chunk_length, shift);
  if (num_tokens <= 0) return 0;
  const int64_t first_length = chunk_length - shift;
  const int64_t after_first = std::max<int64_t>(0, num_tokens - first_length);
  return 1 + (after_first + chunk_length - 1) / chunk_length;
}

ChunkSpan chunk_span(int64_t num_tokens, int64_t chunk_length, int64_t chunk, int64_t shift) {
  RETRO_CHECK(chunk >= 0 && chunk < num_chunks(num_tokens, chunk_length, shift),
              "chunk {} of a document of {} tokens: it has {}", chunk, num_tokens,
              num_chunks(num_tokens, chunk_length, shift));
  const int64_t first = std::max<int64_t>(0, chunk * chunk_length - shift);
  const int64_t end = std::min(num_tokens, (chunk + 1) * chunk_length - shift);
  return {first, end - first};
}

ChunkGrid::ChunkGrid(const TokenCorpus& corpus, std::vector<int64_t> documents,
                     int64_t chunk_length, int64_t shift, int64_t max_tokens)
    : corpus_(&corpus),
      documents_(std::move(documents)),
      chunk_length_(chunk_length),
      shift_(shift),
      max_tokens_(max_tokens) {
  check_grid(chunk_length, shift);
  RETRO_CHECK(max_tokens >= 0, "cap of {} tokens a document, expected 0 (none) or more",
              max_tokens);
  first_row_.reserve(documents_.size() + 1);
  first_row_.push_back(0);
  for (int64_t d = 0; d < num_documents(); ++d) {
    RETRO_CHECK(document(d) >= 0 && document(d) < corpus.num_documents(),
                "document {} of a corpus of {}", document(d), corpus.num_documents());
    first_row_.push_back(first_row_.back() + num_chunks(covered_tokens(d), chunk_length, shift));
  }
}

int64_t ChunkGrid::covered_tokens(int64_t d) const {
  const int64_t num_tokens = corpus_->document(document(d)).num_tokens;
  return max_tokens_ > 0 ? std::min(num_tokens, max_tokens_) : num_tokens;
}

int64_t ChunkGrid::document_of_row(int64_t row) const {
  RETRO_CHECK(row >= 0 && row < num_rows(), "row {} of a chunk grid of {}", row, num_rows());
  // The last document that begins at or before the row: those without a chunk before it begin there
  // too.
  const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  return after - first_row_.begin() - 1;
}

ChunkSpan ChunkGrid::span_in(int64_t d, int64_t row) const {
  return chunk_span(covered_tokens(d), chunk_length_, row - first_row(d), shift_);
}

ChunkSpan ChunkGrid::span(int64_t row) const { return span_in(document_of_row(row), row); }

std::span<const uint32_t> ChunkGrid::tokens(int64_t row) const {
  const int64_t d = document_of_row(row);
  const ChunkSpan chunk = span_in(d, row);
  return corpus_->tokens(document(d))
      .subspan(static_cast<size_t>(chunk.first_token), static_cast<size_t>(chunk.length));
}

std::span<const uint16_t> ChunkGrid::token_bytes(int64_t row) const {
  const int64_t d = document_of_row(row);
  const ChunkSpan chunk = span_in(d, row);
  return corpus_->token_bytes(document(d))
      .subspan(static_cast<size_t>(chunk.first_token), static_cast<size_t>(chunk.length));
}

std::string ChunkGrid::hash() const {
  Hasher hasher;
  hasher.add("chunk grid").add(corpus_->hash()).add(chunk_length_).add(shift_).add(max_tokens_);
  hasher.add(num_documents());
  hasher.add_bytes(std::as_bytes(std::span(documents_)));
  return hasher.hex();
}

std::string chunk_text(const Tokenizer& tokenizer, std::span<const uint32_t> tokens) {
  const std::vector<int32_t> ids(tokens.begin(), tokens.end());
  return replace_broken_utf8(tokenizer.decode(ids));
}

}  // namespace retro
