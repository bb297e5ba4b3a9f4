#include "text_size.h"

#include <algorithm>

#include "retro/text/corpus_reader.h"

namespace retro {
namespace {

/// Of a source's documents that max_documents leaves.
double share_taken(const SourceConfig& source, int64_t num_documents) {
  if (source.max_documents == 0) return 1.0;
  return std::min(1.0, static_cast<double>(source.max_documents) /
                           static_cast<double>(std::max<int64_t>(1, num_documents)));
}

}  // namespace

TextSize measure_text(const RunConfig& config) {
  TextSize size;
  const double cap =
      static_cast<double>(config.eval.max_chunks_per_document * config.database.chunk_length) *
      kBytesPerToken;
  for (const SourceConfig& source : config.corpus.sources) {
    double bytes = 0, capped = 0;
    int64_t count = 0;
    read_documents(source.path, [&](RawDocument&& document) {
      const auto length = static_cast<double>(document.text.size());
      bytes += length;
      capped += cap > 0 ? std::min(cap, length) : length;
      ++count;
    });
    const double share = share_taken(source, count);
    size.bytes += bytes * share;
    if (source.kind == "evaluated") {
      size.evaluation_bytes += capped * share * source.test_share;
      size.training_bytes += bytes * share * (1 - source.test_share - source.validation_share);
    }
    if (source.kind == "database" || source.in_database) size.database_bytes += bytes * share;
    size.documents.push_back(count);
  }
  return size;
}

}  // namespace retro
