#include "retro/eval/datastore_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "retro/core/hash.h"

namespace retro {

namespace {

/// The database's documents in an order that depends on their names alone.
std::vector<int64_t> shuffled_documents(const TokenCorpus& corpus) {
  std::vector<std::pair<uint64_t, int64_t>> order;
  for (const int64_t d : corpus.documents_with(kRoleDatabase)) {
    const DocumentInfo& document = corpus.document(d);
    order.emplace_back(sha1_prefix(fmt::format("datastore {}/{}", document.source, document.id)),
                       d);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> documents;
  for (const auto& [hash, d] : order) documents.push_back(d);
  return documents;
}

}  // namespace

ChunkGrid datastore_text(const TokenCorpus& corpus, int64_t chunk_length, int64_t max_tokens) {
  std::vector<int64_t> documents;
  int64_t tokens = 0;
  for (const int64_t d : shuffled_documents(corpus)) {
    const int64_t length = corpus.document(d).num_tokens;
    const bool fits = max_tokens == 0 || tokens + length <= max_tokens;
    if (!fits && !documents.empty()) continue;
    documents.push_back(d);
    tokens += fits ? length : max_tokens;
  }
  std::sort(documents.begin(), documents.end());
  return {corpus, std::move(documents), chunk_length, 0, max_tokens};
}

uint64_t datastore_bytes(const ChunkGrid& text, int64_t width) {
  int64_t entries = text.num_documents();
  for (int64_t d = 0; d < text.num_documents(); ++d) entries += text.covered_tokens(d);
  return static_cast<uint64_t>(entries) *
         (static_cast<uint64_t>(width) * sizeof(float) + sizeof(int32_t));
}

}  // namespace retro
