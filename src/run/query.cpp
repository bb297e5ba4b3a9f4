#include "retro/run/query.h"

#include <array>

#include "retro/core/error.h"
#include "retro/core/utf8.h"
#include "retro/retrieval/live_database.h"
#include "retro/retrieval/retriever.h"
#include "retro/run/run_embedder.h"

namespace retro {
namespace {

std::string decoded(const Tokenizer& tokenizer, std::span<const int32_t> padded) {
  size_t length = 0;
  while (length < padded.size() && padded[length] >= 0) ++length;
  return replace_broken_utf8(tokenizer.decode(padded.first(length)));
}

}  // namespace

std::vector<QueryAnswer> query_database(const RunConfig& config, const std::string& text, int64_t k,
                                        const DocumentSelection& selection) {
  RETRO_CHECK(!text.empty(), "the text to look for is empty");
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const auto embedder = run_embedder(config);
  LiveDatabase live({paths.database(), paths.index()});
  const auto snapshot = live.newest();
  const RetrievalDatabase& database = *snapshot->database;
  Retriever retriever(database, *snapshot->index, *embedder);
  ChunkFilter is_allowed;
  if (!selection.is_empty()) {
    const auto documents = select_documents(database, selection, tokenizer.get());
    require_any(database, documents);
    is_allowed = filter_of(database, documents);
  }
  const auto found =
      retriever.retrieve(std::array{text}, k, run_threads(config), is_allowed).front();
  const auto m = static_cast<size_t>(database.chunk_length());
  std::vector<QueryAnswer> answers;
  for (const RetrievedNeighbour& neighbour : found) {
    if (neighbour.chunk_id == kMissing) continue;
    std::vector<int32_t> value(2 * m);
    database.copy_value(neighbour.chunk_id, value);
    const DatabaseDocument& document = database.document(database.document_of(neighbour.chunk_id));
    const std::span<const int32_t> whole(value);
    answers.push_back({neighbour.chunk_id, neighbour.distance, document.source, document.id,
                       document.title, decoded(*tokenizer, whole.first(m)),
                       decoded(*tokenizer, whole.last(m))});
  }
  return answers;
}

}  // namespace retro
