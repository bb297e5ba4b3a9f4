// Which of the database's text goes into the datastore of kNN-LM.
#pragma once

#include <cstdint>

#include "retro/text/chunker.h"

namespace retro {

/// Whole documents of the database in a fixed shuffled order, as long as they fit into `max_tokens`
/// together (0: all); a first document that is longer is cut to that length.
ChunkGrid datastore_text(const TokenCorpus& corpus, int64_t chunk_length, int64_t max_tokens);

/// What its datastore takes on disk: for every token and every end of a document a state of `width`
/// float32 and a token; a little less where a document fills its last chunk.
uint64_t datastore_bytes(const ChunkGrid& text, int64_t width);

}  // namespace retro
