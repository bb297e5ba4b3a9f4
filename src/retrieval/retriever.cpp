#include "retro/retrieval/retriever.h"

#include "retro/core/error.h"

namespace retro {

Retriever::Retriever(const RetrievalDatabase& database, const NeighbourIndex& index,
                     ChunkEmbedder& embedder)
    : database_(&database), index_(&index), embedder_(&embedder) {
  RETRO_CHECK(embedder.identity() == database.embedder_identity(),
              "{}: its keys come from the embedder {}, queries would come from {}; set embed.model "
              "and embed.precision to those of the database",
              database.directory().string(), database.embedder_identity(), embedder.identity());
  RETRO_CHECK(&index.database() == &database, "the index belongs to the database {}, not to {}",
              index.database().directory().string(), database.directory().string());
}

std::vector<std::vector<RetrievedNeighbour>> Retriever::retrieve(std::span<const std::string> texts,
                                                                 int64_t k, int num_threads,
                                                                 const ChunkFilter& is_allowed) {
  RETRO_CHECK(k >= 0, "cannot retrieve {} neighbours", k);
  std::vector<std::vector<RetrievedNeighbour>> neighbours(texts.size());
  if (texts.empty() || k == 0) return neighbours;
  const auto width = static_cast<size_t>(database_->key_width());
  std::vector<float> queries_XQ(texts.size() * width);
  std::vector<uint8_t> has_key(texts.size());
  embedder_->embed(texts, queries_XQ, has_key);
  const auto row_length = static_cast<size_t>(k);
  std::vector<int64_t> ids(texts.size() * row_length);
  std::vector<float> distances(texts.size() * row_length);
  const SearchParameters parameters{.num_probes = 0, .num_threads = num_threads};
  if (is_allowed) {
    search_allowed(*index_, queries_XQ, k, is_allowed, parameters, ids, distances);
  } else {
    search_until_found(*index_, queries_XQ, k, parameters, ids, distances);
  }
  for (size_t t = 0; t < texts.size(); ++t) {
    if (has_key[t] == 0) continue;
    for (size_t i = t * row_length; i < (t + 1) * row_length && ids[i] != kMissing; ++i) {
      neighbours[t].push_back({ids[i], distances[i]});
    }
  }
  return neighbours;
}

}  // namespace retro
