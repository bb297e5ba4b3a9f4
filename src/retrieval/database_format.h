// Names and small records of a retrieval database on disk (docs/formats.md).
//
//   manifest.json            written last: format, version, sizes, identities, list of shards
//   made_from.txt            hash of the inputs (corpus grid, tokenizer, embedder, config)
//   deleted_000007.bin       array "db-deleted", int64, [deleted documents, 1]: numbers of the
//                            documents (counted through the shards) that are gone from answers but
//                            not yet from disk
//   shard_000000/            consecutive documents, whole; shards follow one another in document
//                            and chunk order
//     shard.json             counts, and the content hash of each file below; written last
//     documents.jsonl        one document a line: id, group, source, title, fields, tokens, bytes,
//                            and first_chunk where ids do not simply go on
//     tokens.bin             array "db-tokens",  uint32, [tokens, 1]: the documents' tokens, one
//                            after another
//     keys.bin               array "db-keys",    float16 or float32, [chunks, key_width];
//                            or uint8, [chunks, key_width + 4]: bits of int8, then the row's
//                            scale (float32)
//     has_key.bin            array "db-has-key", uint8, [chunks, 1]: 0 for a chunk without a real
//                            WordPiece
//
// Chunk j of a document holds its tokens [j*m, min((j+1)*m, tokens)); chunk ids count through
// documents and shards from 0, and stay when documents are removed. tokens.bin is uint32 for every
// vocabulary: a token's key takes twelve times its room.
//
// A change writes new shards beside the old ones and replaces the manifest in one step; files that
// no manifest names are leftovers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "retro/core/array_file.h"

namespace retro::database_format {

/// Part of every hash that names content.
inline constexpr int64_t kVersion = 1;
/// A database as built is written as version 3, one that was changed since as version 4; 1 and 2
/// are the same without a checksum, of older programs.
inline constexpr int64_t kBuiltVersion = 3;
inline constexpr int64_t kChangedVersion = 4;
inline constexpr int64_t kFirstCheckedVersion = 3;
inline constexpr size_t kLongestHistory = 1000;
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kNextManifest = "manifest.next.json";  ///< of a compaction at work
inline constexpr const char* kMadeFrom = "made_from.txt";
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
  int64_t generation = 0;           ///< changes since the build; the rest is of version 2 only
  int64_t next_chunk = 0;           ///< the id the next chunk gets
  int64_t next_shard = 0;           ///< numbers of shards are never used again
  std::vector<int64_t> first_chunks = {};  ///< of each shard
  std::string deleted = {};                ///< name of the list of deleted documents, or empty
  std::string deleted_hash = {};
  /// Versions of the states before this one, the newest last, at most kLongestHistory of them;
  /// older programs wrote none.
  std::vector<std::string> history = {};
};

void write_shard(const std::filesystem::path& directory, const ShardRecord& shard);
ShardRecord read_shard(const std::filesystem::path& directory);
void write_manifest(const std::filesystem::path& directory, const Manifest& manifest,
                    const std::string& name = kManifest);
Manifest read_manifest(const std::filesystem::path& directory, const std::string& name = kManifest);

/// What neighbour tables and the index name: changes with any byte of content or any identity.
std::string content_version(const Manifest& manifest, const std::vector<ShardRecord>& shards);

/// Names a shard by its content: what an index says it covers.
std::string shard_identity(const ShardRecord& shard, int64_t first_chunk);

std::string shard_name(int64_t index);
/// "deleted_000007.bin".
std::string deleted_name(int64_t generation);
ArrayFile::Expected expected_deleted(const Manifest& manifest);
/// What the files of a shard are expected to be; they refer to `manifest`.
ArrayFile::Expected expected_tokens(const Manifest& manifest);
ArrayFile::Expected expected_keys(const Manifest& manifest);
ArrayFile::Expected expected_has_key(const Manifest& manifest);
/// The header such a file is written with.
ArrayHeader header_of(const ArrayFile::Expected& expected);

}  // namespace retro::database_format
