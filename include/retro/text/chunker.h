// The chunk grid of a document (METHOD section 2): m tokens each, from the first token, never
// across documents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/text/token_corpus.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// Tokens [first_token, first_token + length) of its document; length is 1..m, only the last may be
/// short (and the first, on a shifted grid).
struct ChunkSpan {
  int64_t first_token = 0;
  int64_t length = 0;
};

/// ceil(num_tokens / chunk_length); with `shift` s the first chunk has chunk_length - s tokens and
/// the rest follow.
int64_t num_chunks(int64_t num_tokens, int64_t chunk_length, int64_t shift = 0);
ChunkSpan chunk_span(int64_t num_tokens, int64_t chunk_length, int64_t chunk, int64_t shift = 0);

/// The chunks of a list of documents, numbered document by document: row = first_row[d] + chunk
/// within d. One numbering serves keys, neighbour tables, data sets and evaluation.
class ChunkGrid {
 public:
  /// `max_tokens` > 0 keeps only the first tokens of each document (evaluation caps long documents;
  /// the cap counts tokens, so that every shift covers the same ones). Values and continuations
  /// still come from the whole document.
  ChunkGrid(const TokenCorpus& corpus, std::vector<int64_t> documents, int64_t chunk_length,
            int64_t shift = 0, int64_t max_tokens = 0);

  int64_t chunk_length() const { return chunk_length_; }
  int64_t shift() const { return shift_; }
  int64_t max_tokens() const { return max_tokens_; }
  /// Tokens of the grid's d-th document that the grid covers.
  int64_t covered_tokens(int64_t d) const;
  int64_t num_rows() const { return first_row_.back(); }
  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }
  /// Corpus number of the grid's d-th document.
  int64_t document(int64_t d) const { return documents_[static_cast<size_t>(d)]; }
  const std::vector<int64_t>& documents() const { return documents_; }
  int64_t first_row(int64_t d) const { return first_row_[static_cast<size_t>(d)]; }
  /// The grid's document that holds `row` (binary search).
  int64_t document_of_row(int64_t row) const;
  ChunkSpan span(int64_t row) const;
  std::span<const uint32_t> tokens(int64_t row) const;
  std::span<const uint16_t> token_bytes(int64_t row) const;
  const TokenCorpus& corpus() const { return *corpus_; }
  /// Names corpus, documents, chunk length, shift and cap.
  std::string hash() const;

 private:
  /// The span of `row`, which belongs to the grid's d-th document.
  ChunkSpan span_in(int64_t d, int64_t row) const;

  const TokenCorpus* corpus_;
  std::vector<int64_t> documents_;
  std::vector<int64_t> first_row_;  ///< one more than documents_
  int64_t chunk_length_;
  int64_t shift_;
  int64_t max_tokens_;
};

/// The text of a chunk: its decoded pieces, broken bytes as U+FFFD.
std::string chunk_text(const Tokenizer& tokenizer, std::span<const uint32_t> tokens);

}  // namespace retro
