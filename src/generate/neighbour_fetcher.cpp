#include "retro/generate/neighbour_fetcher.h"

#include "retro/core/error.h"
#include "retro/text/chunker.h"

namespace retro {

LiveNeighbours::LiveNeighbours(Retriever& retriever, const Tokenizer& tokenizer, int num_threads)
    : retriever_(&retriever), tokenizer_(&tokenizer), num_threads_(num_threads) {
  RETRO_CHECK(
      retriever.database().tokenizer_identity() == tokenizer.identity(),
      "{}: the database was made with tokenizer {}, the model reads {}; rebuild the database",
      retriever.database().directory().string(), retriever.database().tokenizer_identity(),
      tokenizer.identity());
}

std::vector<std::vector<FetchedNeighbour>> LiveNeighbours::fetch(
    const std::vector<std::vector<int32_t>>& chunks, int64_t k) {
  std::vector<std::string> texts;
  for (const std::vector<int32_t>& chunk : chunks) {
    texts.push_back(chunk_text(*tokenizer_, std::vector<uint32_t>(chunk.begin(), chunk.end())));
  }
  const RetrievalDatabase& database = retriever_->database();
  std::vector<std::vector<FetchedNeighbour>> fetched(chunks.size());
  const auto retrieved = retriever_->retrieve(texts, k, num_threads_);
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (const RetrievedNeighbour& found : retrieved[c]) {
      if (found.chunk_id == kMissing) continue;
      const DatabaseDocument& document = database.document(database.document_of(found.chunk_id));
      FetchedNeighbour neighbour{found.chunk_id,  found.distance, {},
                                 document.source, document.id,    document.title};
      neighbour.value_R.resize(static_cast<size_t>(2 * database.chunk_length()));
      database.copy_value(found.chunk_id, neighbour.value_R);
      fetched[c].push_back(std::move(neighbour));
    }
  }
  return fetched;
}

}  // namespace retro
