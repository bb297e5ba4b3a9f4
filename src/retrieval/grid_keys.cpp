// load_or_embed_keys: see neighbour_table.h.
#include <algorithm>
#include <memory>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/retrieval/verification.h"

#include "database_format.h"
#include "grid_key_part.h"
#include "key_blocks.h"
#include "resumable_directory.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRebuild = "run `retro neighbours` again";
ArrayFile::Expected expected_keys(int64_t key_width, const std::string& made_from) {
  return {.kind = "grid-keys",
          .type = ArrayType::kFloat32,
          .source_hash = made_from,
          .rebuild = kRebuild,
          .columns = static_cast<uint64_t>(key_width)};
}

ArrayFile::Expected expected_has_key(const std::string& made_from) {
  return {.kind = "grid-has-key",
          .type = ArrayType::kUint8,
          .source_hash = made_from,
          .rebuild = kRebuild,
          .columns = 1};
}

GridKeys open_keys(const fs::path& directory, int64_t key_width, const std::string& made_from) {
  return {{directory / database_format::kKeys, expected_keys(key_width, made_from)},
          {directory / database_format::kHasKey, expected_has_key(made_from)}};
}

/// Where a document's keys are in the database, if the very same chunks are there.
class StoredChunks {
 public:
  StoredChunks(const ChunkGrid& grid, const RetrievalDatabase& database)
      : grid_(grid), database_(database), first_chunk_(static_cast<size_t>(grid.num_documents())) {
    for (int64_t d = 0; d < grid.num_documents(); ++d) {
      first_chunk_[static_cast<size_t>(d)] = find(d);
      if (first_chunk_[static_cast<size_t>(d)] != kMissing) {
        num_rows_ += grid.first_row(d + 1) - grid.first_row(d);
      }
    }
  }

  /// Database chunk of a grid row, or kMissing.
  int64_t chunk_of(int64_t row) const {
    const int64_t d = grid_.document_of_row(row);
    const int64_t first = first_chunk_[static_cast<size_t>(d)];
    return first == kMissing ? kMissing : first + row - grid_.first_row(d);
  }
  int64_t num_rows() const { return num_rows_; }

 private:
  int64_t find(int64_t d) const {
    if (grid_.shift() != 0 || grid_.chunk_length() != database_.chunk_length()) return kMissing;
    const DocumentInfo& info = grid_.corpus().document(grid_.document(d));
    const int64_t document = database_.find_document(info.source, info.id);
    if (document < 0) return kMissing;
    const DatabaseDocument& stored = database_.document(document);
    if (stored.num_chunks != grid_.first_row(d + 1) - grid_.first_row(d)) return kMissing;
    for (int64_t chunk = 0; chunk < stored.num_chunks; ++chunk) {
      const auto own = grid_.tokens(grid_.first_row(d) + chunk);
      if (!std::ranges::equal(own, database_.tokens(stored.first_chunk + chunk))) return kMissing;
    }
    return stored.first_chunk;
  }

  const ChunkGrid& grid_;
  const RetrievalDatabase& database_;
  std::vector<int64_t> first_chunk_;
  int64_t num_rows_ = 0;
};

class GridKeyMaker {
 public:
  GridKeyMaker(const ChunkGrid& grid, const RetrievalDatabase& database, const Tokenizer& tokenizer,
               ChunkEmbedder& embedder)
      : grid_(grid),
        database_(database),
        tokenizer_(tokenizer),
        embedder_(embedder),
        stored_(grid, database) {}

  int64_t num_stored() const { return stored_.num_rows(); }

  void make(int64_t begin, int64_t end, std::span<float> keys, std::span<uint8_t> has_key) {
    std::vector<int64_t> rows_to_embed;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t chunk = stored_.chunk_of(row);
      if (chunk == kMissing) {
        rows_to_embed.push_back(row);
        continue;
      }
      database_.copy_keys(chunk, chunk + 1, key_of(keys, row - begin));
      has_key[static_cast<size_t>(row - begin)] = database_.has_key(chunk) ? 1 : 0;
    }
    if (!rows_to_embed.empty()) embed(rows_to_embed, begin, keys, has_key);
  }

 private:
  std::span<float> key_of(std::span<float> keys, int64_t index) const {
    const auto width = static_cast<size_t>(database_.key_width());
    return keys.subspan(static_cast<size_t>(index) * width, width);
  }

  void embed(const std::vector<int64_t>& rows, int64_t begin, std::span<float> keys,
             std::span<uint8_t> has_key) {
    std::vector<float> embedded(rows.size() * static_cast<size_t>(database_.key_width()));
    std::vector<uint8_t> flags(rows.size());
    embed_rows(grid_, rows, tokenizer_, embedder_, embedded, flags);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(key_of(embedded, static_cast<int64_t>(i)),
                        key_of(keys, rows[i] - begin).begin());
      has_key[static_cast<size_t>(rows[i] - begin)] = flags[i];
    }
  }

  const ChunkGrid& grid_;
  const RetrievalDatabase& database_;
  const Tokenizer& tokenizer_;
  ChunkEmbedder& embedder_;
  StoredChunks stored_;
};

void check_inputs(const ChunkGrid& grid, const RetrievalDatabase& database,
                  const Tokenizer& tokenizer, const ChunkEmbedder& embedder) {
  const std::string name = database.directory().string();
  RETRO_CHECK(embedder.identity() == database.embedder_identity(),
              "{}: its keys come from the embedder {}, queries would come from {}; set embed.model "
              "and embed.precision to those of the database",
              name, database.embedder_identity(), embedder.identity());
  RETRO_CHECK(tokenizer.identity() == database.tokenizer_identity() &&
                  grid.corpus().tokenizer_identity() == database.tokenizer_identity(),
              "{}: made with the tokenizer {}, the corpus {} with {}; {}", name,
              database.tokenizer_identity(), grid.corpus().directory().string(),
              grid.corpus().tokenizer_identity(), database_format::kRebuild);
}

}  // namespace

GridKeys open_grid_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                        const fs::path& directory) {
  recover_directory(directory);
  GridKeys keys = open_keys(directory, database.key_width(), {});
  RETRO_CHECK(static_cast<int64_t>(keys.keys.rows()) == grid.num_rows() &&
                  static_cast<int64_t>(keys.has_key.rows()) == grid.num_rows(),
              "{}: {} keys for {} chunks; {}", directory.string(), keys.keys.rows(),
              grid.num_rows(), kRebuild);
  return keys;
}

namespace {

std::string identity_of_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                             const std::string& version) {
  return Hasher()
      .add("grid keys")
      .add(grid.hash())
      .add(version)
      .add(database.embedder_identity())
      .hex();
}

/// Where the keys of a grid lie and what they are made from.
class GridKeyFiles {
 public:
  GridKeyFiles(const ChunkGrid& grid, const RetrievalDatabase& database, const fs::path& directory)
      : directory_(directory),
        made_from_(identity_of_keys(grid, database, database.version())),
        width_(database.key_width()),
        num_rows_(grid.num_rows()),
        files_{width_, database_format::header_of(expected_keys(width_, made_from_)),
               database_format::header_of(expected_has_key(made_from_))} {}

  GridKeys open() const { return open_keys(directory_, width_, made_from_); }
  ResumableDirectory begin() const {
    return {directory_, made_from_, [this] { verify_grid_keys(open()); }};
  }
  BlockFiles blocks(const fs::path& work) const {
    return key_block_files(work, files_, num_rows_, kGridBlockRows);
  }
  const KeyFiles& files() const { return files_; }
  const std::string& made_from() const { return made_from_; }
  fs::path partial_directory() const {
    const fs::path path = directory_.has_filename() ? directory_ : directory_.parent_path();
    return path.string() + ".partial";
  }
  /// A block that `embed_grid_keys_part` has made.
  GridKeys open_block(int64_t block) const {
    const BlockFiles files = blocks(partial_directory());
    return {{files.block_path(block, 1), expected_keys(width_, made_from_)},
            {files.block_path(block, 0), expected_has_key(made_from_)}};
  }

 private:
  fs::path directory_;
  std::string made_from_;
  int64_t width_;
  int64_t num_rows_;
  KeyFiles files_;
};

void say_what_is_embedded(const GridKeyMaker& maker, const ChunkGrid& grid) {
  log_info("keys: {} of {} chunks are in the database, {} are embedded",
           format_count(maker.num_stored()), format_count(grid.num_rows()),
           format_count(grid.num_rows() - maker.num_stored()));
}

}  // namespace

bool has_grid_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                   const fs::path& directory) {
  try {
    const GridKeys keys = open_grid_keys(grid, database, directory);
    return std::ranges::any_of(database.known_versions(), [&](const std::string& version) {
      return identity_of_keys(grid, database, version) == keys.keys.header().source_hash;
    });
  } catch (const Error&) {
    return false;
  }
}

GridKeys load_or_embed_keys(const ChunkGrid& grid, const RetrievalDatabase& database,
                            const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                            const fs::path& directory) {
  check_inputs(grid, database, tokenizer, embedder);
  const GridKeyFiles files(grid, database, directory);
  ResumableDirectory work = files.begin();
  if (!work.is_complete()) {
    GridKeyMaker maker(grid, database, tokenizer, embedder);
    say_what_is_embedded(maker, grid);
    Progress progress("keys", grid.num_rows(), "chunks");
    write_key_files(
        files.blocks(work.path()), files.files(), 0,
        [&](int64_t begin, int64_t end, std::span<float> keys, std::span<uint8_t> has_key) {
          maker.make(begin, end, keys, has_key);
        },
        [&](int64_t done) { progress.update(done); });
    progress.finish();
    work.publish();
  }
  return files.open();
}

GridKeyPart embed_grid_keys_part(const ChunkGrid& grid, const RetrievalDatabase& database,
                                 const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                                 const BuildPart& part, const fs::path& directory) {
  check_inputs(grid, database, tokenizer, embedder);
  const GridKeyFiles files(grid, database, directory);
  const ResumableDirectory work = files.begin();
  if (work.is_complete()) {
    const auto keys = std::make_shared<const GridKeys>(files.open());
    return {files.made_from(), [keys](int64_t) { return KeyRows{keys, 0}; }};
  }
  GridKeyMaker maker(grid, database, tokenizer, embedder);
  say_what_is_embedded(maker, grid);
  Progress progress("keys", grid.num_rows(), "chunks");
  write_key_blocks(
      files.blocks(work.path()), files.files(), 0, part,
      [&](int64_t begin, int64_t end, std::span<float> keys, std::span<uint8_t> has_key) {
        maker.make(begin, end, keys, has_key);
      },
      [&](int64_t done) { progress.update(done); });
  progress.finish();
  return {files.made_from(), [files](int64_t block) {
            return KeyRows{std::make_shared<const GridKeys>(files.open_block(block)),
                           block * kGridBlockRows};
          }};
}

}  // namespace retro
