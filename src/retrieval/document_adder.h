// Documents cut into chunks, embedded in batches and written to a shard.
#pragma once

#include <string>
#include <vector>

#include "retro/embed/chunk_embedder.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/tokenizer.h"

#include "shard_writer.h"

namespace retro {

class DocumentAdder {
 public:
  /// Chunk ids go on from `next_chunk`.
  DocumentAdder(const Tokenizer& tokenizer, ChunkEmbedder& embedder, int64_t chunk_length,
                int64_t next_chunk, ShardWriter& shard);
  /// `fields` is the JSON object to store.
  void add(const RawDocument& raw, const std::string& source, std::string fields);
  /// Writes what is still held.
  void finish();
  int64_t next_chunk() const { return next_chunk_; }

 private:
  struct Pending {
    DatabaseDocument document;
    std::vector<uint32_t> tokens;
  };
  void flush();
  void append_texts(const Pending& pending, std::vector<std::string>& texts) const;

  const Tokenizer& tokenizer_;
  ChunkEmbedder& embedder_;
  int64_t chunk_length_;
  int64_t next_chunk_;
  ShardWriter& shard_;
  std::vector<Pending> pending_;
  int64_t pending_chunks_ = 0;
};

}  // namespace retro
