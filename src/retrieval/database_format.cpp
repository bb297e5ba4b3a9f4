#include "database_format.h"

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"

#include "key_storage.h"

namespace retro::database_format {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "retro retrieval database";

}  // namespace

void write_shard(const fs::path& directory, const ShardRecord& shard) {
  write_json_file(directory / kShard, {{"documents", shard.num_documents},
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
  const nlohmann::json json = read_json_file(path);
  const nlohmann::json& hashes = json_at(json, "hashes", where);
  return {json_get<int64_t>(json, "documents", where),
          json_get<int64_t>(json, "chunks", where),
          json_get<int64_t>(json, "tokens", where),
          json_get<int64_t>(json, "chunks_without_key", where),
          json_get<std::string>(hashes, kDocuments, where),
          json_get<std::string>(hashes, kTokens, where),
          json_get<std::string>(hashes, kKeys, where),
          json_get<std::string>(hashes, kHasKey, where)};
}

void write_manifest(const fs::path& directory, const Manifest& manifest) {
  write_json_file(directory / kManifest, {{"format", kFormat},
                                          {"format_version", kVersion},
                                          {"version", manifest.version},
                                          {"made_from", manifest.made_from},
                                          {"chunk_length", manifest.chunk_length},
                                          {"key_width", manifest.key_width},
                                          {"key_storage", manifest.key_storage},
                                          {"embedder", manifest.embedder},
                                          {"tokenizer", manifest.tokenizer},
                                          {"shards", manifest.shards}});
}

Manifest read_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifest;
  RETRO_CHECK(fs::exists(path), "{} is no complete retrieval database ({} is missing); {}",
              directory.string(), kManifest, kRebuild);
  const std::string where = path.string();
  const nlohmann::json json = read_json_file(path);
  const auto format = json_get<std::string>(json, "format", where);
  const auto format_version = json_get<int64_t>(json, "format_version", where);
  RETRO_CHECK(format == kFormat && format_version == kVersion,
              "{}: `{}` of format version {}, expected `{}` of version {}; {}", where, format,
              format_version, kFormat, kVersion, kRebuild);
  return {json_get<std::string>(json, "version", where),
          json_get<std::string>(json, "made_from", where),
          json_get<int64_t>(json, "chunk_length", where),
          json_get<int64_t>(json, "key_width", where),
          json_get<std::string>(json, "key_storage", where),
          json_get<std::string>(json, "embedder", where),
          json_get<std::string>(json, "tokenizer", where),
          json_get<std::vector<std::string>>(json, "shards", where)};
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
  return hasher.hex();
}

std::string shard_name(int64_t index) { return fmt::format("shard_{:06}", index); }

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
          .columns = static_cast<uint64_t>(manifest.key_width)};
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
