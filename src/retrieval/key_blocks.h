// The keys of a grid's chunks, made block by block.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "retro/core/array_file.h"
#include "retro/embed/chunk_embedder.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/text/chunker.h"

#include "block_files.h"

namespace retro {

/// What keys.bin and has_key.bin are written as.
struct KeyFiles {
  int64_t key_width = 0;
  ArrayHeader keys;
  ArrayHeader has_key;
};

/// Fills keys [end - begin, key_width] and flags of grid rows [begin, end).
using KeyMaker = std::function<void(int64_t begin, int64_t end, std::span<float> keys,
                                    std::span<uint8_t> has_key)>;

/// Embeds the texts of these grid rows; keys [rows.size(), key_width].
void embed_rows(const ChunkGrid& grid, std::span<const int64_t> rows, const Tokenizer& tokenizer,
                ChunkEmbedder& embedder, std::span<float> keys, std::span<uint8_t> has_key);

/// The blocks of grid rows [begin, end), `block_rows` at a time, of `directory`/keys.bin and
/// has_key.bin.
BlockFiles key_block_files(const std::filesystem::path& directory, const KeyFiles& files,
                           int64_t num_rows, int64_t block_rows);

/// Makes the blocks number part.index, part.index + part.count, ... that an earlier, killed call
/// has not finished. Block rows are told to `make_keys` from `begin` on. `on_block` is told the
/// number of rows done.
void write_key_blocks(const BlockFiles& blocks, const KeyFiles& files, int64_t begin,
                      const BuildPart& part, const KeyMaker& make_keys,
                      const std::function<void(int64_t rows_done)>& on_block);

/// All blocks, joined to the two files, which are the same after any kills.
void write_key_files(const BlockFiles& blocks, const KeyFiles& files, int64_t begin,
                     const KeyMaker& make_keys,
                     const std::function<void(int64_t rows_done)>& on_block);

}  // namespace retro
