// Opening a retrieval database: see retrieval_database.h; the files are described in
// database_format.h.
#include <algorithm>
#include <array>
#include <utility>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/retrieval/retrieval_database.h"

#include "database_format.h"
#include "document_lines.h"
#include "resumable_directory.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

/// Opening again while a writer keeps changing the database.
constexpr int kAttempts = 20;
/// Ids stay far from where adding to them would overflow.
constexpr int64_t kLargestId = int64_t{1} << 60;

void check_sizes(const fs::path& directory, const format::ShardRecord& shard,
                 const std::array<int64_t, 5>& found) {
  const std::array<int64_t, 5> expected{shard.num_documents, shard.num_chunks, shard.num_tokens,
                                        shard.num_chunks, shard.num_chunks};
  RETRO_CHECK(found == expected,
              "{}: holds {} documents with {} chunks and {} tokens, {} keys and {} key flags, "
              "expected {} documents, {} chunks and {} tokens; {}",
              directory.string(), found[0], found[1], found[2], found[3], found[4],
              shard.num_documents, shard.num_chunks, shard.num_tokens, format::kRebuild);
}

std::string read_documents_file(const fs::path& directory, const format::ShardRecord& shard) {
  std::string text = read_file(directory / format::kDocuments);
  RETRO_CHECK(hash_text(text) == shard.documents_hash,
              "{}: the content does not match its hash; {}",
              (directory / format::kDocuments).string(), format::kRebuild);
  return text;
}

void verify_file(const fs::path& path, const std::string& expected_hash) {
  RETRO_CHECK(hash_file(path) == expected_hash, "{}: the content does not match its hash; {}",
              path.string(), format::kRebuild);
}

std::vector<int64_t> read_deleted_documents(const fs::path& directory,
                                            const format::Manifest& manifest) {
  if (manifest.deleted.empty()) return {};
  verify_file(directory / manifest.deleted, manifest.deleted_hash);
  const ArrayFile file(directory / manifest.deleted, format::expected_deleted(manifest));
  const auto numbers = file.values<int64_t>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::string stored_embedder_identity(const fs::path& directory) {
  if (!path_exists(directory / format::kManifest)) return {};
  try {
    return format::read_manifest(directory).embedder;
  } catch (const Error&) {
    return {};
  }
}

RetrievalDatabase::RetrievalDatabase(const fs::path& directory, const std::string& manifest_name)
    : directory_(directory) {
  // A writer may replace files between the reading of the manifest and the opening of the last
  // file; then there is a newer manifest, whose files are there.
  for (int attempt = 1;; ++attempt) {
    const auto before = format::read_manifest(directory, manifest_name);
    try {
      RetrievalDatabase opened;
      opened.directory_ = directory;
      opened.load(manifest_name);
      *this = std::move(opened);
      return;
    } catch (const Error&) {
      // A compaction of nothing but additions gives the same version, in other shards.
      const auto after = format::read_manifest(directory, manifest_name);
      const bool is_same = after.version == before.version && after.generation == before.generation;
      if (attempt == kAttempts || is_same) throw;
    }
  }
}

void RetrievalDatabase::load(const std::string& manifest_name) {
  const format::Manifest manifest = format::read_manifest(directory_, manifest_name);
  chunk_length_ = manifest.chunk_length;
  key_width_ = manifest.key_width;
  key_storage_ = manifest.key_storage;
  const std::string where = (directory_ / manifest_name).string();
  RETRO_CHECK(chunk_length_ > 0 && key_width_ > 0, "{}: chunk length {} and key width {}; {}",
              where, chunk_length_, key_width_, format::kRebuild);
  embedder_identity_ = manifest.embedder;
  tokenizer_identity_ = manifest.tokenizer;
  version_ = manifest.version;
  known_versions_ = manifest.history;
  known_versions_.push_back(version_);
  generation_ = manifest.generation;
  std::vector<format::ShardRecord> records;
  for (size_t s = 0; s < manifest.shards.size(); ++s) {
    const fs::path path = directory_ / manifest.shards[s];
    const int64_t first_chunk = generation_ > 0 ? manifest.first_chunks[s] : num_chunks_;
    RETRO_CHECK(first_chunk >= num_chunks_ && first_chunk <= kLargestId,
                "{}: shard {} begins at chunk {}, before it are {}; {}", where, manifest.shards[s],
                first_chunk, num_chunks_, format::kRebuild);
    num_chunks_ = first_chunk;
    records.push_back(format::read_shard(path));
    add_shard({.directory = path,
               .identity = format::shard_identity(records.back(), first_chunk),
               .first_chunk = first_chunk,
               .first_document = num_documents(),
               .first_row = num_rows_,
               .tokens = {path / format::kTokens, format::expected_tokens(manifest)},
               .keys = {path / format::kKeys, format::expected_keys(manifest)},
               .has_key = {path / format::kHasKey, format::expected_has_key(manifest)}},
              read_documents_file(path, records.back()));
    check_sizes(path, records.back(), sizes_of_last_shard());
    num_indexable_ += records.back().num_chunks - records.back().num_keyless;
  }
  RETRO_CHECK(version_ == format::content_version(manifest, records),
              "{}: the manifest and its shards do not belong together; {}", directory_.string(),
              format::kRebuild);
  if (generation_ > 0) {
    RETRO_CHECK(manifest.next_chunk >= num_chunks_, "{}: chunk {} exists, the next one would be {}",
                where, num_chunks_ - 1, manifest.next_chunk);
    num_chunks_ = manifest.next_chunk;
    mark_deleted(read_deleted_documents(directory_, manifest));
  }
  RETRO_CHECK(num_chunks_ > 0, "{}: the retrieval database is empty; {}", directory_.string(),
              format::kRebuild);
  sort_names();
}

void RetrievalDatabase::add_shard(Shard shard, std::string_view document_lines) {
  parse_document_lines(document_lines, (shard.directory / format::kDocuments).string(),
                       chunk_length_, num_chunks_, documents_);
  int64_t num_tokens = 0;
  for (auto d = static_cast<size_t>(shard.first_document); d < documents_.size(); ++d) {
    DatabaseDocument& document = documents_[d];
    RETRO_CHECK(document.first_chunk <= kLargestId, "{}: document {} begins at chunk {}; {}",
                shard.directory.string(), document.id, document.first_chunk, format::kRebuild);
    document.first_row = num_rows_;
    document_first_chunk_.push_back(document.first_chunk);
    document_first_row_.push_back(num_rows_);
    document_first_token_.push_back(num_tokens);
    num_tokens += document.num_tokens;
    num_rows_ += document.num_chunks;
    num_chunks_ = document.first_chunk + document.num_chunks;
  }
  num_live_chunks_ = num_rows_;
  RETRO_CHECK(static_cast<int64_t>(shard.tokens.rows()) == num_tokens,
              "{}: the documents have {} tokens, the file {}; {}", shard.directory.string(),
              num_tokens, shard.tokens.rows(), format::kRebuild);
  shards_.push_back(std::move(shard));
}

void RetrievalDatabase::mark_deleted(const std::vector<int64_t>& deleted) {
  for (const int64_t number : deleted) {
    RETRO_CHECK(number >= 0 && number < num_documents() && !document(number).is_deleted,
                "{}: deletes document {} of {}; {}", directory_.string(), number, num_documents(),
                format::kRebuild);
    DatabaseDocument& document = documents_[static_cast<size_t>(number)];
    for (int64_t row = document.first_row; row < document.first_row + document.num_chunks; ++row) {
      num_indexable_ -= row_has_key(row) ? 1 : 0;
    }
    document.is_deleted = true;
    num_live_chunks_ -= document.num_chunks;
  }
}

void RetrievalDatabase::sort_names() {
  for (int64_t d = 0; d < num_documents(); ++d) {
    if (!document(d).is_deleted) documents_by_name_.push_back(d);
  }
  std::ranges::sort(documents_by_name_, {}, [&](int64_t d) {
    return std::pair<std::string_view, std::string_view>(document(d).source, document(d).id);
  });
}

std::array<int64_t, 5> RetrievalDatabase::sizes_of_last_shard() const {
  const Shard& shard = shards_.back();
  return {num_documents() - shard.first_document, num_rows_ - shard.first_row,
          static_cast<int64_t>(shard.tokens.rows()), static_cast<int64_t>(shard.keys.rows()),
          static_cast<int64_t>(shard.has_key.rows())};
}

void RetrievalDatabase::verify() const {
  verify_identity_file(directory_);
  for (const Shard& shard : shards_) {
    const format::ShardRecord record = format::read_shard(shard.directory);
    verify_file(shard.directory / format::kTokens, record.tokens_hash);
    verify_file(shard.directory / format::kKeys, record.keys_hash);
    verify_file(shard.directory / format::kHasKey, record.has_key_hash);
  }
}

}  // namespace retro
