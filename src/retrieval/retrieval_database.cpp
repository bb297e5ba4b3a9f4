#include "retro/retrieval/retrieval_database.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"

#include "database_format.h"
#include "document_lines.h"
#include "key_storage.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

/// Index of the last element <= value in an ascending list that begins with 0.
size_t last_not_above(const std::vector<int64_t>& ascending, int64_t value) {
  return static_cast<size_t>(std::ranges::upper_bound(ascending, value) - ascending.begin()) - 1;
}

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

}  // namespace

void DatabaseConfig::visit_fields(FieldVisitor& visit) {
  visit("chunk_length", chunk_length, "tokens of a chunk (m)");
  visit.choice("key_storage", key_storage, {"float32", "float16"}, "precision of stored keys");
  visit("block_chunks", block_chunks,
        "chunks embedded and written at once; a killed build resumes at a block");
  visit("shard_chunks", shard_chunks,
        "a shard is closed after the document that reaches this many chunks");
}

RetrievalDatabase::RetrievalDatabase(const fs::path& directory) : directory_(directory) {
  const format::Manifest manifest = format::read_manifest(directory);
  chunk_length_ = manifest.chunk_length;
  key_width_ = manifest.key_width;
  key_storage_ = manifest.key_storage;
  RETRO_CHECK(chunk_length_ > 0 && key_width_ > 0, "{}: chunk length {} and key width {}; {}",
              (directory / format::kManifest).string(), chunk_length_, key_width_,
              format::kRebuild);
  embedder_identity_ = manifest.embedder;
  tokenizer_identity_ = manifest.tokenizer;
  version_ = manifest.version;
  std::vector<format::ShardRecord> records;
  for (const std::string& name : manifest.shards) {
    const fs::path path = directory / name;
    records.push_back(format::read_shard(path));
    add_shard({.directory = path,
               .first_chunk = num_chunks_,
               .first_document = num_documents(),
               .tokens = {path / format::kTokens, format::expected_tokens(manifest)},
               .keys = {path / format::kKeys, format::expected_keys(manifest)},
               .has_key = {path / format::kHasKey, format::expected_has_key(manifest)}},
              read_documents_file(path, records.back()));
    check_sizes(path, records.back(), sizes_of_last_shard());
    num_indexable_ += records.back().num_chunks - records.back().num_keyless;
  }
  RETRO_CHECK(version_ == format::content_version(manifest, records),
              "{}: the manifest and its shards do not belong together; {}", directory.string(),
              format::kRebuild);
  RETRO_CHECK(num_chunks_ > 0, "{}: the retrieval database is empty; {}", directory.string(),
              format::kRebuild);
  documents_by_name_.resize(documents_.size());
  std::iota(documents_by_name_.begin(), documents_by_name_.end(), 0);
  std::ranges::sort(documents_by_name_, {}, [&](int64_t d) {
    return std::pair<std::string_view, std::string_view>(document(d).source, document(d).id);
  });
}

void RetrievalDatabase::add_shard(Shard shard, std::string_view document_lines) {
  parse_document_lines(document_lines, (shard.directory / format::kDocuments).string(),
                       chunk_length_, num_chunks_, documents_);
  int64_t num_tokens = 0;
  for (auto d = static_cast<size_t>(shard.first_document); d < documents_.size(); ++d) {
    document_first_chunk_.push_back(documents_[d].first_chunk);
    document_first_token_.push_back(num_tokens);
    num_tokens += documents_[d].num_tokens;
    num_chunks_ += documents_[d].num_chunks;
  }
  RETRO_CHECK(static_cast<int64_t>(shard.tokens.rows()) == num_tokens,
              "{}: the documents have {} tokens, the file {}; {}", shard.directory.string(),
              num_tokens, shard.tokens.rows(), format::kRebuild);
  shards_.push_back(std::move(shard));
}

std::array<int64_t, 5> RetrievalDatabase::sizes_of_last_shard() const {
  const Shard& shard = shards_.back();
  return {num_documents() - shard.first_document, num_chunks_ - shard.first_chunk,
          static_cast<int64_t>(shard.tokens.rows()), static_cast<int64_t>(shard.keys.rows()),
          static_cast<int64_t>(shard.has_key.rows())};
}

void RetrievalDatabase::check_chunk(int64_t chunk_id) const {
  RETRO_CHECK(chunk_id >= 0 && chunk_id < num_chunks_, "{}: chunk {} of {} does not exist",
              directory_.string(), chunk_id, num_chunks_);
}

const RetrievalDatabase::Shard& RetrievalDatabase::shard_of_chunk(int64_t chunk_id) const {
  const auto next = std::ranges::upper_bound(shards_, chunk_id, {}, &Shard::first_chunk);
  return *std::prev(next);
}

int64_t RetrievalDatabase::shard_first_chunk(int64_t shard) const {
  return shard < num_shards() ? shards_[static_cast<size_t>(shard)].first_chunk : num_chunks_;
}

int64_t RetrievalDatabase::document_of(int64_t chunk_id) const {
  check_chunk(chunk_id);
  // Documents without a token share their first chunk with the next one; the last of them has the
  // chunk.
  return static_cast<int64_t>(last_not_above(document_first_chunk_, chunk_id));
}

std::span<const uint32_t> RetrievalDatabase::tokens(int64_t chunk_id) const {
  const auto d = static_cast<size_t>(document_of(chunk_id));
  const int64_t chunk = chunk_id - document_first_chunk_[d];
  const ChunkSpan span = chunk_span(documents_[d].num_tokens, chunk_length_, chunk);
  const auto first = static_cast<size_t>(document_first_token_[d] + span.first_token);
  return shard_of_chunk(chunk_id).tokens.values<uint32_t>().subspan(
      first, static_cast<size_t>(span.length));
}

void RetrievalDatabase::copy_value(int64_t chunk_id, std::span<int32_t> value_R) const {
  RETRO_CHECK(static_cast<int64_t>(value_R.size()) == 2 * chunk_length_,
              "a retrieved value has {} tokens, the buffer {}", 2 * chunk_length_, value_R.size());
  std::ranges::fill(value_R, static_cast<int32_t>(kMissing));
  if (chunk_id == kMissing) return;
  const DatabaseDocument& document = documents_[static_cast<size_t>(document_of(chunk_id))];
  std::ranges::copy(tokens(chunk_id), value_R.begin());
  // The continuation stops at the document's end (METHOD section 2.2).
  if (chunk_id + 1 < document.first_chunk + document.num_chunks) {
    std::ranges::copy(tokens(chunk_id + 1), value_R.begin() + chunk_length_);
  }
}

int64_t RetrievalDatabase::find_document(std::string_view source, std::string_view id) const {
  const auto name = [&](int64_t d) {
    return std::pair<std::string_view, std::string_view>(document(d).source, document(d).id);
  };
  const std::pair wanted(source, id);
  const auto found = std::ranges::lower_bound(documents_by_name_, wanted, {}, name);
  return found != documents_by_name_.end() && name(*found) == wanted ? *found : -1;
}

bool RetrievalDatabase::has_key(int64_t chunk_id) const {
  check_chunk(chunk_id);
  const Shard& shard = shard_of_chunk(chunk_id);
  return shard.has_key.values<uint8_t>()[static_cast<size_t>(chunk_id - shard.first_chunk)] != 0;
}

void RetrievalDatabase::copy_keys(int64_t begin, int64_t end, std::span<float> keys) const {
  RETRO_CHECK(begin >= 0 && begin <= end && end <= num_chunks_ &&
                  static_cast<int64_t>(keys.size()) == (end - begin) * key_width_,
              "{}: keys of chunks {} to {} of {} do not fit a buffer of {} values",
              directory_.string(), begin, end, num_chunks_, keys.size());
  while (begin < end) {
    const Shard& shard = shard_of_chunk(begin);
    const int64_t offset = begin - shard.first_chunk;
    const int64_t count = std::min(end - begin, static_cast<int64_t>(shard.keys.rows()) - offset);
    const auto num_values = static_cast<size_t>(count * key_width_);
    read_keys(shard.keys, static_cast<uint64_t>(offset * key_width_), keys.first(num_values));
    keys = keys.subspan(num_values);
    begin += count;
  }
}

void RetrievalDatabase::verify() const {
  for (const Shard& shard : shards_) {
    const format::ShardRecord record = format::read_shard(shard.directory);
    verify_file(shard.directory / format::kTokens, record.tokens_hash);
    verify_file(shard.directory / format::kKeys, record.keys_hash);
    verify_file(shard.directory / format::kHasKey, record.has_key_hash);
  }
}

}  // namespace retro
