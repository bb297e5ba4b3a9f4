#include "database_format.h"

#include "retro/core/bundle.h"
#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"

#include "key_storage.h"

namespace retro::database_format {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "retro retrieval database";

}  // namespace

void write_shard(const fs::path& directory, const ShardRecord& shard) {
  write_checked_json(directory / kShard, {{"documents", shard.num_documents},
                                          {"chunks", shard.num_chunks},
                                          {"tokens", shard.num_tokens},
                                          {"chunks_without_key", shard.num_keyless},
                                          {"hashes",
                                           {{kDocuments, shard.documents_hash},
                                            {kTokens, shard.tokens_hash},
                                            {kKeys, shard.keys_hash},
                                            {kHasKey, shard.has_key_hash}}}});
}

ShardRecord read_shard(const fs::path& directory) {
  const fs::path path = directory / kShard;
  const std::string where = path.string();
  const nlohmann::json json = read_checked_json(path, kFirstCheckedVersion);
  const nlohmann::json& hashes = json_at(json, "hashes", where);
  // Its values are part of the database's version; this notices a damaged name of the checksum,
  // which older programs did not write.
  RETRO_CHECK(json.size() == 5 && hashes.size() == 4, "{}: has keys that are not known; {}", where,
              kRebuild);
  return {json_get<int64_t>(json, "documents", where),
          json_get<int64_t>(json, "chunks", where),
          json_get<int64_t>(json, "tokens", where),
          json_get<int64_t>(json, "chunks_without_key", where),
          json_get<std::string>(hashes, kDocuments, where),
          json_get<std::string>(hashes, kTokens, where),
          json_get<std::string>(hashes, kKeys, where),
          json_get<std::string>(hashes, kHasKey, where)};
}

void write_manifest(const fs::path& directory, const Manifest& manifest, const std::string& name) {
  const bool is_changed = manifest.generation > 0;
  nlohmann::json json{{"format", kFormat},
                      {"format_version", is_changed ? kChangedVersion : kBuiltVersion},
                      {"version", manifest.version},
                      {"made_from", manifest.made_from},
                      {"chunk_length", manifest.chunk_length},
                      {"key_width", manifest.key_width},
                      {"key_storage", manifest.key_storage},
                      {"embedder", manifest.embedder},
                      {"tokenizer", manifest.tokenizer},
                      {"shards", manifest.shards}};
  if (is_changed) {
    json.update({{"generation", manifest.generation},
                 {"next_chunk", manifest.next_chunk},
                 {"next_shard", manifest.next_shard},
                 {"first_chunks", manifest.first_chunks},
                 {"deleted", manifest.deleted},
                 {"deleted_hash", manifest.deleted_hash},
                 {"history", manifest.history}});
  }
  write_checked_json(directory / name, json);
}

namespace {

void read_changes(const nlohmann::json& json, const std::string& where, Manifest& manifest) {
  manifest.generation = json_get<int64_t>(json, "generation", where);
  manifest.next_chunk = json_get<int64_t>(json, "next_chunk", where);
  manifest.next_shard = json_get<int64_t>(json, "next_shard", where);
  manifest.first_chunks = json_get<std::vector<int64_t>>(json, "first_chunks", where);
  manifest.deleted = json_get<std::string>(json, "deleted", where);
  manifest.deleted_hash = json_get<std::string>(json, "deleted_hash", where);
  manifest.history = json_get_or<std::vector<std::string>>(json, "history", {}, where);
  RETRO_CHECK(manifest.first_chunks.size() == manifest.shards.size() && manifest.generation > 0,
              "{}: {} shards and {} first chunks at generation {}; {}", where,
              manifest.shards.size(), manifest.first_chunks.size(), manifest.generation, kRebuild);
}

}  // namespace

Manifest read_manifest(const fs::path& directory, const std::string& name) {
  const fs::path path = directory / name;
  RETRO_CHECK(path_exists(path), "{} is no complete retrieval database ({} is missing); {}",
              directory.string(), name, kRebuild);
  const std::string where = path.string();
  const nlohmann::json json = read_checked_json(path, kFirstCheckedVersion);
  const auto format = json_get<std::string>(json, "format", where);
  const auto format_version = json_get<int64_t>(json, "format_version", where);
  RETRO_CHECK(format == kFormat && format_version >= 1 && format_version <= kChangedVersion,
              "{}: `{}` of format version {}, expected `{}` of version 1 to {}; {}", where, format,
              format_version, kFormat, kChangedVersion, kRebuild);
  Manifest manifest{.version = json_get<std::string>(json, "version", where),
                    .made_from = json_get<std::string>(json, "made_from", where),
                    .chunk_length = json_get<int64_t>(json, "chunk_length", where),
                    .key_width = json_get<int64_t>(json, "key_width", where),
                    .key_storage = json_get<std::string>(json, "key_storage", where),
                    .embedder = json_get<std::string>(json, "embedder", where),
                    .tokenizer = json_get<std::string>(json, "tokenizer", where),
                    .shards = json_get<std::vector<std::string>>(json, "shards", where)};
  if (format_version % 2 == 0) read_changes(json, where, manifest);
  for (const std::string& shard : manifest.shards) require_plain_name(shard, where);
  if (!manifest.deleted.empty()) require_plain_name(manifest.deleted, where);
  return manifest;
}

std::string content_version(const Manifest& manifest, const std::vector<ShardRecord>& shards) {
  Hasher hasher;
  hasher.add(kVersion).add(manifest.chunk_length).add(manifest.key_width);
  hasher.add(manifest.key_storage).add(manifest.embedder).add(manifest.tokenizer);
  for (const ShardRecord& shard : shards) {
    hasher.add(shard.num_documents).add(shard.num_chunks).add(shard.num_tokens);
    hasher.add(shard.num_keyless);
    hasher.add(shard.documents_hash).add(shard.tokens_hash);
    hasher.add(shard.keys_hash).add(shard.has_key_hash);
  }
  if (manifest.generation > 0) {
    hasher.add(manifest.next_chunk).add(manifest.deleted_hash);
    for (const int64_t first_chunk : manifest.first_chunks) hasher.add(first_chunk);
  }
  return hasher.hex();
}

std::string shard_identity(const ShardRecord& shard, int64_t first_chunk) {
  Hasher hasher;
  hasher.add(first_chunk).add(shard.documents_hash).add(shard.tokens_hash);
  hasher.add(shard.keys_hash).add(shard.has_key_hash);
  return hasher.hex();
}

std::string shard_name(int64_t index) { return fmt::format("shard_{:06}", index); }

std::string deleted_name(int64_t generation) {
  return fmt::format("deleted_{:06}.bin", generation);
}

ArrayFile::Expected expected_deleted(const Manifest& manifest) {
  return {.kind = "db-deleted",
          .type = ArrayType::kInt64,
          .source_hash = manifest.made_from,
          .rebuild = kRebuild,
          .columns = 1};
}

ArrayFile::Expected expected_tokens(const Manifest& manifest) {
  return {.kind = "db-tokens",
          .type = ArrayType::kUint32,
          .source_hash = manifest.made_from,
          .rebuild = kRebuild,
          .columns = 1};
}

ArrayFile::Expected expected_keys(const Manifest& manifest) {
  return {.kind = "db-keys",
          .type = key_type(manifest.key_storage),
          .source_hash = manifest.made_from,
          .rebuild = kRebuild,
          .columns = key_columns(key_type(manifest.key_storage), manifest.key_width)};
}

ArrayFile::Expected expected_has_key(const Manifest& manifest) {
  return {.kind = "db-has-key",
          .type = ArrayType::kUint8,
          .source_hash = manifest.made_from,
          .rebuild = kRebuild,
          .columns = 1};
}

ArrayHeader header_of(const ArrayFile::Expected& expected) {
  return {.kind = std::string(expected.kind),
          .version = expected.version,
          .type = expected.type,
          .rows = 0,
          .columns = expected.columns,
          .source_hash = std::string(expected.source_hash)};
}

}  // namespace retro::database_format
