#include "shard_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "retro/core/hash.h"

#include "document_lines.h"
#include "key_storage.h"

namespace retro {

namespace fs = std::filesystem;
namespace format = database_format;

format::ShardRecord describe_shard(const fs::path& directory, const format::Manifest& manifest,
                                   int64_t num_documents) {
  const ArrayFile flags(directory / format::kHasKey, format::expected_has_key(manifest));
  const ArrayFile tokens(directory / format::kTokens, format::expected_tokens(manifest));
  return {.num_documents = num_documents,
          .num_chunks = static_cast<int64_t>(flags.rows()),
          .num_tokens = static_cast<int64_t>(tokens.rows()),
          .num_keyless = std::ranges::count(flags.values<uint8_t>(), 0),
          .documents_hash = hash_file(directory / format::kDocuments),
          .tokens_hash = hash_file(directory / format::kTokens),
          .keys_hash = hash_file(directory / format::kKeys),
          .has_key_hash = hash_file(directory / format::kHasKey)};
}

ShardWriter::ShardWriter(fs::path directory, const format::Manifest& manifest)
    : directory_(std::move(directory)),
      manifest_(manifest),
      documents_(directory_ / format::kDocuments),
      tokens_(directory_ / format::kTokens, format::header_of(format::expected_tokens(manifest))),
      keys_(directory_ / format::kKeys, format::header_of(format::expected_keys(manifest))),
      has_key_(directory_ / format::kHasKey,
               format::header_of(format::expected_has_key(manifest))) {}

void ShardWriter::add(const DatabaseDocument& document, const DocumentContent& content) {
  documents_.write(document_line(document, ChunkNumbers::kExplicit));
  tokens_.append(content.tokens);
  append_keys(content.keys, manifest_.key_width, key_type(manifest_.key_storage), keys_);
  has_key_.append(content.has_key);
  ++num_documents_;
}

format::ShardRecord ShardWriter::finish() {
  tokens_.commit();
  keys_.commit();
  has_key_.commit();
  documents_.commit();
  const format::ShardRecord record = describe_shard(directory_, manifest_, num_documents_);
  format::write_shard(directory_, record);
  return record;
}

void copy_document(const RetrievalDatabase& database, int64_t index, ShardWriter& shard) {
  const DatabaseDocument& document = database.document(index);
  const auto num_chunks = static_cast<size_t>(document.num_chunks);
  std::vector<float> keys(num_chunks * static_cast<size_t>(database.key_width()));
  std::vector<uint8_t> has_key(num_chunks);
  database.copy_row_keys(document.first_row, document.first_row + document.num_chunks, keys);
  for (size_t chunk = 0; chunk < num_chunks; ++chunk) {
    const int64_t row = document.first_row + static_cast<int64_t>(chunk);
    has_key[chunk] = database.row_has_key(row) ? 1 : 0;
  }
  shard.add(document, {database.document_tokens(index), keys, has_key});
}

}  // namespace retro
