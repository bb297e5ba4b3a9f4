#include "key_blocks.h"

#include <string>

#include "database_format.h"
#include "key_storage.h"

namespace retro {

void embed_rows(const ChunkGrid& grid, std::span<const int64_t> rows, const Tokenizer& tokenizer,
                ChunkEmbedder& embedder, std::span<float> keys, std::span<uint8_t> has_key) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (const int64_t row : rows) texts.push_back(chunk_text(tokenizer, grid.tokens(row)));
  embedder.embed(texts, keys, has_key);
}

BlockFiles key_block_files(const std::filesystem::path& directory, const KeyFiles& files,
                           int64_t num_rows, int64_t block_rows) {
  return {directory,
          {{database_format::kHasKey, files.has_key}, {database_format::kKeys, files.keys}},
          num_rows,
          block_rows};
}

void write_key_blocks(const BlockFiles& blocks, const KeyFiles& files, int64_t begin,
                      const BuildPart& part, const KeyMaker& make_keys,
                      const std::function<void(int64_t rows_done)>& on_block) {
  std::vector<float> keys;
  std::vector<uint8_t> has_key;
  for (int64_t block = part.index; block < blocks.num_blocks() && !blocks.is_joined();
       block += part.count) {
    const int64_t first = blocks.first_row(block);
    const int64_t last = blocks.end_row(block);
    if (!blocks.has_block(block)) {
      keys.assign(static_cast<size_t>((last - first) * files.key_width), 0.0F);
      has_key.assign(static_cast<size_t>(last - first), 0);
      make_keys(begin + first, begin + last, keys, has_key);
      ArrayFileWriter flag_file = blocks.open_block(block, 0);
      flag_file.append(std::span<const uint8_t>(has_key));
      flag_file.commit();
      ArrayFileWriter key_file = blocks.open_block(block, 1);
      append_keys(keys, files.key_width, files.keys.type, key_file);
      key_file.commit();
    }
    on_block(last);
  }
}

void write_key_files(const BlockFiles& blocks, const KeyFiles& files, int64_t begin,
                     const KeyMaker& make_keys,
                     const std::function<void(int64_t rows_done)>& on_block) {
  write_key_blocks(blocks, files, begin, {}, make_keys, on_block);
  blocks.join();
}

}  // namespace retro
