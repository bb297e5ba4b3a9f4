// The files of a token corpus, as written and as read. docs/formats.md describes them.
//   documents.jsonl    one object a line: id, title, source, group, fields, roles (a list of
//   names), first_token,
//                      num_tokens, num_bytes
//   tokens.bin         array file, kind "tokens", uint32: the documents' token ids, one after the
//   other token_bytes.bin    array file, kind "token bytes", uint16: source bytes of each token
//   deduplication.jsonl  one object a line for each pair of near-duplicates: id, source,
//                      similar_id, similar_source, similarity, lost_roles
//   manifest.json      written last: format, version, hash, tokenizer, documents_hash, counts,
//   sources
// Both arrays name documents_hash as what they belong to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/array_file.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/text/token_corpus.h"

namespace retro {

constexpr std::string_view kDocumentsFile = "documents.jsonl";
constexpr std::string_view kTokensFile = "tokens.bin";
constexpr std::string_view kTokenBytesFile = "token_bytes.bin";
constexpr std::string_view kDeduplicationFile = "deduplication.jsonl";
constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kTokensKind = "tokens";
constexpr std::string_view kTokenBytesKind = "token bytes";
constexpr std::string_view kRebuildCorpus = "run `retro corpus` again";

struct CorpusManifest {
  std::string hash;
  std::string documents_hash;
  std::string tokenizer_identity;
};

/// Throws Error for a directory that is no complete corpus of this version.
CorpusManifest read_manifest(const std::filesystem::path& directory);
/// The rows of documents.jsonl; `name` is used in errors.
std::vector<DocumentInfo> parse_documents(const std::string& table, const std::string& name);

/// The document that another one resembles.
struct SimilarDocument {
  std::string source;
  std::string id;
  int64_t copies = 1;  ///< held-out documents of the same 13-token-grams, itself included
};

/// Streams the files of a corpus into `directory`.
class CorpusWriter {
 public:
  CorpusWriter(const std::filesystem::path& directory, std::string tokenizer_identity);

  /// Fills in first_token, num_tokens and num_bytes of `document`.
  void add(DocumentInfo document, const EncodedText& encoded);
  /// Lines of another corpus's report.
  void add_report(std::string_view lines) { deduplication_.write(lines); }
  /// A pair of near-duplicates, and what `document` loses by it.
  void add_duplicate(const DocumentInfo& document, const SimilarDocument& similar,
                     double similarity, uint32_t lost_roles);
  int64_t num_documents() const { return num_documents_; }
  /// Writes the manifest; the corpus is complete afterwards.
  void finish(const std::vector<SourceSummary>& sources);

 private:
  std::filesystem::path directory_;
  std::string tokenizer_identity_;
  AtomicFile documents_;
  AtomicFile deduplication_;
  ArrayFileWriter tokens_;
  ArrayFileWriter token_bytes_;
  Hasher documents_hasher_;
  Hasher tokens_hasher_;
  Hasher token_bytes_hasher_;
  int64_t num_documents_ = 0;
  int64_t num_tokens_ = 0;
  int64_t num_bytes_ = 0;
};

}  // namespace retro
