// documents.jsonl: the document table of a shard.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "retro/retrieval/retrieval_database.h"

namespace retro {

/// How a line says where its document's chunks begin.
enum class ChunkNumbers {
  kConsecutive,  ///< not at all: they go on after those of the document before
  kExplicit,     ///< "first_chunk": documents before it may have been removed
};

/// One line, with its newline.
std::string document_line(const DatabaseDocument& document,
                          ChunkNumbers numbers = ChunkNumbers::kConsecutive);
/// Appends the documents of `text` (the file `where`), numbering chunks of `chunk_length` on from
/// `next_chunk` unless a line says otherwise. Throws Error naming file and line.
void parse_document_lines(std::string_view text, std::string_view where, int64_t chunk_length,
                          int64_t next_chunk, std::vector<DatabaseDocument>& documents);

}  // namespace retro
