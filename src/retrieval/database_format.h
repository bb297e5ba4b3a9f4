// Names and small records of a retrieval database on disk.
//
//   manifest.json            written last: format, version, sizes, identities, list of shards
//   made_from.txt            hash of the inputs (corpus grid, tokenizer, embedder, config)
//   shard_000000/            consecutive documents, whole; shards follow one another in document
//   and chunk order
//     shard.json             counts, and the content hash of each file below; written last
//     documents.jsonl        one document a line: id, group, source, title, fields, tokens, bytes
//     tokens.bin             array "db-tokens",  uint32, [tokens, 1]: the documents' tokens, one
//     after another keys.bin               array "db-keys",    float16 or float32, [chunks,
//     key_width] has_key.bin            array "db-has-key", uint8, [chunks, 1]: 0 for a chunk
//     without a real WordPiece
//
// Chunk j of a document holds its tokens [j*m, min((j+1)*m, tokens)); chunk ids count through
// documents and shards from 0. tokens.bin is uint32 for every vocabulary: a token's key takes
// twelve times its room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "retro/core/array_file.h"

namespace retro::database_format {

inline constexpr int64_t kVersion = 1;
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kShard = "shard.json";
inline constexpr const char* kDocuments = "documents.jsonl";
inline constexpr const char* kTokens = "tokens.bin";
inline constexpr const char* kKeys = "keys.bin";
inline constexpr const char* kHasKey = "has_key.bin";
inline constexpr const char* kRebuild = "run `retro database build` again";

struct ShardRecord {
  int64_t num_documents = 0;
  int64_t num_chunks = 0;
  int64_t num_tokens = 0;
  int64_t num_keyless = 0;  ///< chunks without a key
  std::string documents_hash;
  std::string tokens_hash;
  std::string keys_hash;
  std::string has_key_hash;
};

struct Manifest {
  std::string version;    ///< content hash
  std::string made_from;  ///< hash of the inputs; the source hash in the header of every array
  int64_t chunk_length = 0;
  int64_t key_width = 0;
  std::string key_storage;
  std::string embedder;
  std::string tokenizer;
  std::vector<std::string> shards;  ///< directory names, in order
};

void write_shard(const std::filesystem::path& directory, const ShardRecord& shard);
ShardRecord read_shard(const std::filesystem::path& directory);
void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);
Manifest read_manifest(const std::filesystem::path& directory);

/// What neighbour tables and the index name: changes with any byte of content or any identity.
std::string content_version(const Manifest& manifest, const std::vector<ShardRecord>& shards);

std::string shard_name(int64_t index);
/// What the files of a shard are expected to be; they refer to `manifest`.
ArrayFile::Expected expected_tokens(const Manifest& manifest);
ArrayFile::Expected expected_keys(const Manifest& manifest);
ArrayFile::Expected expected_has_key(const Manifest& manifest);
/// The header such a file is written with.
ArrayHeader header_of(const ArrayFile::Expected& expected);

}  // namespace retro::database_format
