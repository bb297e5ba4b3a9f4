// A shard written document by document: by additions, merges and compactions.
#pragma once

#include <filesystem>
#include <span>

#include "retro/core/file_system.h"
#include "retro/retrieval/retrieval_database.h"

#include "database_format.h"

namespace retro {

/// Counts and hashes of the four files of a shard, as read back from disk.
database_format::ShardRecord describe_shard(const std::filesystem::path& directory,
                                            const database_format::Manifest& manifest,
                                            int64_t num_documents);

/// What is stored of a document beside its row of the table.
struct DocumentContent {
  std::span<const uint32_t> tokens;
  std::span<const float> keys;       ///< [chunks, key width]
  std::span<const uint8_t> has_key;  ///< [chunks]
};

/// Streams; memory is that of a document. The shard is complete after `finish`.
class ShardWriter {
 public:
  ShardWriter(std::filesystem::path directory, const database_format::Manifest& manifest);
  void add(const DatabaseDocument& document, const DocumentContent& content);
  int64_t num_documents() const { return num_documents_; }
  int64_t num_chunks() const { return static_cast<int64_t>(has_key_.rows()); }
  database_format::ShardRecord finish();

 private:
  std::filesystem::path directory_;
  const database_format::Manifest& manifest_;
  AtomicFile documents_;
  ArrayFileWriter tokens_;
  ArrayFileWriter keys_;
  ArrayFileWriter has_key_;
  int64_t num_documents_ = 0;
};

/// Adds document number `index` of `database`, byte for byte.
void copy_document(const RetrievalDatabase& database, int64_t index, ShardWriter& shard);

}  // namespace retro
