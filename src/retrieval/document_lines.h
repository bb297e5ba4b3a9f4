// documents.jsonl: the document table of a shard.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "retro/retrieval/retrieval_database.h"

namespace retro {

/// One line, with its newline. Chunk numbers follow from the tokens and are not stored.
std::string document_line(const DatabaseDocument& document);
/// Appends the documents of `text` (the file `where`), numbering chunks of `chunk_length` on from
/// `next_chunk`. Throws Error naming file and line.
void parse_document_lines(std::string_view text, std::string_view where, int64_t chunk_length,
                          int64_t next_chunk, std::vector<DatabaseDocument>& documents);

}  // namespace retro
