// The corpus on disk: documents as token ids, with the source bytes of every token, split into
// roles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "retro/core/array_file.h"
#include "retro/core/config.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// METHOD section 2: a document has one or more roles.
enum Role : uint32_t { kRoleTrain = 1, kRoleValidation = 2, kRoleTest = 4, kRoleDatabase = 8 };
std::string role_name(Role role);

/// One source of documents. `kind` "evaluated": each document is in exactly one of train,
/// validation, test by h = sha1(family "/" title-or-group) mod 100 (h < 100*test_share test, then
/// validation, else train; finer shares: see split_position), its train part also in the database
/// if `in_database`. `kind` "database": the database only, whole.
struct SourceConfig {
  std::string name;
  std::string path;
  std::string family;  ///< default: the name
  std::string kind = "evaluated";
  bool in_database = true;
  double test_share = 0.02;
  double validation_share = 0.02;
  /// 0: all; else a seeded sample by hash of the split key, so that pairs stay together.
  int64_t max_documents = 0;
  /// Left out where its file is missing.
  bool optional = false;
  void visit_fields(FieldVisitor& visit);
};

struct CorpusConfig {
  std::vector<SourceConfig> sources;
  bool deduplicate_database = true;
  bool deduplicate_within = false;
  void visit_fields(FieldVisitor& visit);
};

/// A row of the document table.
struct DocumentInfo {
  std::string id;
  std::string title;
  std::string source;
  std::string group;   ///< never empty: defaults to source "/" id
  std::string fields;  ///< JSON object
  uint32_t roles = 0;  ///< bits of Role
  int64_t first_token = 0;
  int64_t num_tokens = 0;
  int64_t num_bytes = 0;
};

/// Read side, memory-mapped. Documents are numbered 0.. in source order; ids are unique within a
/// source.
class TokenCorpus {
 public:
  /// Throws Error for an incomplete, foreign or older corpus, naming what to rebuild.
  explicit TokenCorpus(const std::filesystem::path& directory);

  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }
  const DocumentInfo& document(int64_t index) const {
    return documents_[static_cast<size_t>(index)];
  }
  std::span<const uint32_t> tokens(int64_t document) const;
  /// Source bytes of each token of the document.
  std::span<const uint16_t> token_bytes(int64_t document) const;
  /// Documents having any of `roles`, ascending.
  std::vector<int64_t> documents_with(uint32_t roles) const;
  const std::string& tokenizer_identity() const { return tokenizer_identity_; }
  /// Reads everything and compares it with the hashes written beside it. Throws Error naming the
  /// damaged file.
  void verify() const;
  /// Content hash of everything in it; the same wherever it lies.
  const std::string& hash() const { return hash_; }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  std::vector<DocumentInfo> documents_;
  ArrayFile tokens_;
  ArrayFile token_bytes_;
  std::string tokenizer_identity_;
  std::string hash_;
};

/// What a source contributed, printed after a build.
struct SourceSummary {
  std::string name;
  int64_t documents = 0, train = 0, validation = 0, test = 0, database = 0, tokens = 0, bytes = 0,
          dropped_duplicates = 0;
};

/// Roles of a document (no text needed): the split rule above.
uint32_t document_roles(const SourceConfig& source, std::string_view title, std::string_view group);

/// Calls `sink` with the texts a tokenizer may be trained on: train documents and non-held-out
/// database text (a database document whose split key is held out in its family is left out).
void read_tokenizer_texts(const CorpusConfig& config, uint64_t seed,
                          const std::function<void(std::string_view)>& sink);

/// Documents without text are left out, with a warning. Reads every source, drops near-duplicates
/// of evaluation text (METHOD section 6), tokenizes on `num_threads`, writes `directory`
/// atomically. The result does not depend on the thread count.
std::vector<SourceSummary> build_token_corpus(const CorpusConfig& config,
                                              const Tokenizer& tokenizer, uint64_t seed,
                                              int num_threads,
                                              const std::filesystem::path& directory);

}  // namespace retro
