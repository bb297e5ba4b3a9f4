#include "corpus_within.h"

#include <algorithm>

#include "retro/text/duplicate_clusters.h"

#include "corpus_files.h"

namespace retro {

namespace {

std::vector<ClusterDocument> cluster_documents(const TokenCorpus& corpus, uint32_t guarded_roles) {
  std::vector<ClusterDocument> documents;
  for (int64_t d = 0; d < corpus.num_documents(); ++d) {
    const DocumentInfo& info = corpus.document(d);
    documents.push_back(
        {corpus.tokens(d), info.roles & guarded_roles, info.source + "/" + info.id});
  }
  return documents;
}

/// The document's tokens as they came from the tokenizer.
EncodedText encoded_text(const TokenCorpus& corpus, int64_t document) {
  const auto tokens = corpus.tokens(document);
  const auto bytes = corpus.token_bytes(document);
  return {{tokens.begin(), tokens.end()}, {bytes.begin(), bytes.end()}};
}

SourceSummary& summary_of(std::vector<SourceSummary>& summaries, const std::string& source) {
  return *std::find_if(summaries.begin(), summaries.end(),
                       [&](const SourceSummary& summary) { return summary.name == source; });
}

/// Counts what a document lost.
void subtract(const DocumentInfo& before, uint32_t lost, SourceSummary& summary) {
  summary.train -= (lost & kRoleTrain) != 0;
  summary.database -= (lost & kRoleDatabase) != 0;
  ++summary.dropped_duplicates;
  if (lost != before.roles) return;
  --summary.documents;
  summary.tokens -= before.num_tokens;
  summary.bytes -= before.num_bytes;
}

}  // namespace

void write_without_duplicates(const std::filesystem::path& whole, uint32_t guarded_roles,
                              int num_threads, const std::filesystem::path& directory,
                              std::vector<SourceSummary>& summaries) {
  const TokenCorpus corpus(whole);
  const auto pairs = find_duplicates(cluster_documents(corpus, guarded_roles), num_threads);
  CorpusWriter writer(directory, corpus.tokenizer_identity());
  writer.add_report(read_file(whole / kDeduplicationFile));
  auto pair = pairs.begin();
  for (int64_t d = 0; d < corpus.num_documents(); ++d) {
    DocumentInfo info = corpus.document(d);
    uint32_t lost = 0;
    for (; pair != pairs.end() && pair->document == d; ++pair) {
      const DocumentInfo& survivor = corpus.document(pair->survivor);
      writer.add_duplicate(info, {survivor.source, survivor.id}, pair->similarity,
                           pair->lost_roles);
      lost |= pair->lost_roles;
    }
    if (lost != 0) subtract(info, lost, summary_of(summaries, info.source));
    info.roles &= ~lost;
    if (info.roles != 0) writer.add(std::move(info), encoded_text(corpus, d));
  }
  writer.finish(summaries);
}

}  // namespace retro
