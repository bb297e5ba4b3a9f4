#include "retro/text/token_corpus.h"

#include <algorithm>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"

#include "corpus_files.h"

namespace retro {
namespace {

/// Document rows lie one after the other and cover both arrays.
void check_rows(const std::vector<DocumentInfo>& documents, int64_t num_tokens,
                const std::string& name) {
  int64_t next_token = 0;
  for (const DocumentInfo& document : documents) {
    RETRO_CHECK(document.first_token == next_token && document.num_tokens >= 0 &&
                    document.num_tokens <= num_tokens - next_token,
                "{}: document \"{}\" does not follow the one before it; {}", name, document.id,
                kRebuildCorpus);
    next_token += document.num_tokens;
  }
  RETRO_CHECK(next_token == num_tokens, "{}: its documents have {} tokens, the token file {}; {}",
              name, next_token, num_tokens, kRebuildCorpus);
}

}  // namespace

std::string role_name(Role role) {
  switch (role) {
    case kRoleTrain:
      return "train";
    case kRoleValidation:
      return "validation";
    case kRoleTest:
      return "test";
    case kRoleDatabase:
      return "database";
  }
  throw Error(fmt::format("role {} is not one of train, validation, test, database",
                          static_cast<uint32_t>(role)));
}

void SourceConfig::visit_fields(FieldVisitor& visit) {
  visit("name", name, "how tables call this source");
  visit("path", path, "a .jsonl or .jsonl.gz file, or a folder of .txt files");
  visit("family", family,
        "sources of one family split alike (versions of one work); empty: the name");
  visit.choice(
      "kind", kind, {"evaluated", "database"},
      "evaluated: split into train, validation and test; database: only retrieved from, whole");
  visit("in_database", in_database, "the train part is also in the retrieval database");
  visit("test_share", test_share,
        "share of the document titles (or groups) held out for the final test");
  visit("validation_share", validation_share,
        "share of the document titles (or groups) held out for choices");
  visit("max_documents", max_documents, "at most so many documents, a seeded sample; 0: all");
  visit("optional", optional, "left out, with a warning, where there is no such path");
}

void CorpusConfig::visit_fields(FieldVisitor& visit) {
  visit("sources", sources, "where the text comes from");
  visit(
      "deduplicate_database", deduplicate_database,
      "near-duplicates of validation and test documents leave the database too, not only training");
  visit("deduplicate_within", deduplicate_within,
        "of near-duplicate documents within the corpus one stays, in training and (by "
        "deduplicate_database) in the database");
}

TokenCorpus::TokenCorpus(const std::filesystem::path& directory) : directory_(directory) {
  const CorpusManifest manifest = read_manifest(directory);
  const std::string table = read_file(directory / kDocumentsFile);
  const std::string name = directory.string();
  RETRO_CHECK(hash_text(table) == manifest.documents_hash,
              "{}: {} does not belong to this corpus; {}", name, kDocumentsFile, kRebuildCorpus);
  documents_ = parse_documents(table, (directory / kDocumentsFile).string());
  const auto expected = [&](std::string_view kind, ArrayType type) {
    return ArrayFile::Expected{.kind = kind,
                               .type = type,
                               .source_hash = manifest.documents_hash,
                               .rebuild = kRebuildCorpus,
                               .columns = 1};
  };
  tokens_ = ArrayFile(directory / kTokensFile, expected(kTokensKind, ArrayType::kUint32));
  token_bytes_ =
      ArrayFile(directory / kTokenBytesFile, expected(kTokenBytesKind, ArrayType::kUint16));
  RETRO_CHECK(tokens_.rows() == token_bytes_.rows(), "{}: {} tokens but {} byte counts; {}", name,
              tokens_.rows(), token_bytes_.rows(), kRebuildCorpus);
  check_rows(documents_, static_cast<int64_t>(tokens_.rows()), name);
  tokenizer_identity_ = manifest.tokenizer_identity;
  hash_ = manifest.hash;
}

std::span<const uint32_t> TokenCorpus::tokens(int64_t index) const {
  const DocumentInfo& info = document(index);
  return tokens_.values<uint32_t>().subspan(static_cast<size_t>(info.first_token),
                                            static_cast<size_t>(info.num_tokens));
}

std::span<const uint16_t> TokenCorpus::token_bytes(int64_t index) const {
  const DocumentInfo& info = document(index);
  return token_bytes_.values<uint16_t>().subspan(static_cast<size_t>(info.first_token),
                                                 static_cast<size_t>(info.num_tokens));
}

std::vector<int64_t> TokenCorpus::documents_with(uint32_t roles) const {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < num_documents(); ++i) {
    if ((document(i).roles & roles) != 0) found.push_back(i);
  }
  return found;
}

void TokenCorpus::verify() const {
  tokens_.verify();
  token_bytes_.verify();
}

}  // namespace retro
