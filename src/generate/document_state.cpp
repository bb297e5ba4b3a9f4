#include "document_state.h"

namespace retro {

DocumentState DocumentState::clone() const { return {cache.clone(), tokens, neighbours}; }

void DocumentState::note_neighbours() {
  // Chunk 0 of the stream is the lead chunk.
  const int64_t first = cache.dropped_chunks - 1;
  for (auto chunk = static_cast<int64_t>(cache.neighbours.size()) - 1; chunk >= 0; --chunk) {
    if (first + chunk < 0 || neighbours.contains(first + chunk)) break;
    neighbours[first + chunk] = cache.neighbours[static_cast<size_t>(chunk)];
  }
}

DocumentState begin_document(CachedDecoder& decoder, std::span<const int32_t> prompt,
                             int32_t end_of_document, at::Tensor& logits_V) {
  DocumentState document;
  logits_V = decoder.begin(document.cache, end_of_document);
  document.tokens.assign(prompt.begin(), prompt.end());
  if (!prompt.empty()) logits_V = decoder.append_text(document.cache, prompt);
  document.note_neighbours();
  return document;
}

at::Tensor append_tokens(CachedDecoder& decoder, std::span<DocumentState* const> documents,
                         std::span<const int32_t> tokens) {
  std::vector<AppendRequest> requests;
  for (size_t i = 0; i < documents.size(); ++i) {
    documents[i]->tokens.push_back(tokens[i]);
    requests.push_back({&documents[i]->cache, tokens.subspan(i, 1)});
  }
  const at::Tensor logits = decoder.append(requests);
  for (DocumentState* document : documents) document->note_neighbours();
  return logits;
}

}  // namespace retro
