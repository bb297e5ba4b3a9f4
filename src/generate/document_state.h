// A document on its way: its cache, its tokens, and the neighbours of each of its chunks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "retro/generate/cached_decoder.h"

namespace retro {

struct DocumentState {
  KeyValueCache cache;
  std::vector<int32_t> tokens;                                  ///< without the lead chunk
  std::map<int64_t, std::vector<FetchedNeighbour>> neighbours;  ///< by chunk of the document

  DocumentState clone() const;
  /// Takes over what the cache has fetched since the last call.
  void note_neighbours();
};

/// Lays `prompt` out as a document in a stream. Sets `logits_V` to those of the next token.
DocumentState begin_document(CachedDecoder& decoder, std::span<const int32_t> prompt,
                             int32_t end_of_document, at::Tensor& logits_V);

/// Appends tokens[i] to documents[i]; returns logits [documents, V].
at::Tensor append_tokens(CachedDecoder& decoder, std::span<DocumentState* const> documents,
                         std::span<const int32_t> tokens);

}  // namespace retro
