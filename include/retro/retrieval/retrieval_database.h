// The retrieval database on disk: chunks with their keys and values, and the documents they come
// from.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "retro/core/array_file.h"
#include "retro/core/config.h"
#include "retro/embed/chunk_embedder.h"
#include "retro/retrieval/chunk_values.h"
#include "retro/retrieval/memory_budget.h"
#include "retro/text/chunker.h"

namespace retro {

class ResidentLimit;

struct DatabaseConfig {
  int64_t chunk_length = 64;            ///< m
  std::string key_storage = "float16";  ///< float32 | float16 | int8
  std::string memory_budget;            ///< "2 GB"; empty: no limit (MemoryBudget)
  int64_t block_chunks =
      8192;  ///< chunks embedded and written at once; a killed build resumes at a block
  int64_t shard_chunks =
      1 << 20;  ///< a shard is closed after the document that reaches this many chunks
  void visit_fields(FieldVisitor& visit);
};

/// Bytes of a key on disk. Throws Error for an unknown `key_storage`.
int64_t stored_key_bytes(const std::string& key_storage, int64_t key_width);

/// A document of the database, numbered 0.. in the order of its first chunk.
struct DatabaseDocument {
  std::string id;
  std::string group;
  std::string source;
  std::string title;
  std::string fields;  ///< JSON object
  int64_t first_chunk = 0;
  int64_t num_chunks = 0;
  int64_t num_tokens = 0;
  int64_t num_bytes = 0;
  int64_t first_row = 0;    ///< where its keys lie: row number of its first chunk
  bool is_deleted = false;  ///< gone from every answer, and from disk after the next compaction
};

/// Read side, memory-mapped; many threads may read. Chunk ids are 64-bit and stable: removing
/// documents leaves holes. Shows the state at its opening, also while a writer goes on changing the
/// files: every file is open by then.
class RetrievalDatabase final : public ChunkValues {
 public:
  /// Throws Error for an incomplete, truncated or foreign database. `manifest` names another state
  /// of the same directory (that of a compaction at work).
  explicit RetrievalDatabase(const std::filesystem::path& directory,
                             const std::string& manifest = "manifest.json");

  /// The id the next chunk would get: ids are below it, some may be gone.
  int64_t num_chunks() const { return num_chunks_; }
  /// Chunks that can be found or be a continuation.
  int64_t num_live_chunks() const { return num_live_chunks_; }
  /// Documents on disk, deleted ones included.
  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }
  int64_t num_live_documents() const { return static_cast<int64_t>(documents_by_name_.size()); }
  int64_t chunk_length() const override { return chunk_length_; }
  int64_t key_width() const { return key_width_; }
  /// A chunk that is gone gives the value of kMissing.
  void copy_value(int64_t chunk_id, std::span<int32_t> value_R) const override;
  /// The chunk's own tokens (N without padding).
  std::span<const uint32_t> tokens(int64_t chunk_id) const;
  /// Throws Error for a chunk that is no longer on disk.
  int64_t document_of(int64_t chunk_id) const;
  /// False for a chunk of a deleted document, and for one that is no longer on disk.
  bool is_live(int64_t chunk_id) const;
  const DatabaseDocument& document(int64_t index) const {
    return documents_[static_cast<size_t>(index)];
  }
  /// All tokens of a document.
  std::span<const uint32_t> document_tokens(int64_t index) const;
  /// Index of the live document of that source and id, or -1.
  int64_t find_document(std::string_view source, std::string_view id) const;
  /// False for a chunk without a single real WordPiece (stored, never indexed, never queried) and
  /// for one that is gone.
  bool has_key(int64_t chunk_id) const;
  /// Widens the stored keys of chunks [begin, end) to float32, row-major; zeros where a chunk is no
  /// longer on disk.
  void copy_keys(int64_t begin, int64_t end, std::span<float> keys) const;

  /// Keys as they lie on disk: rows in the order of chunk ids, without holes.
  int64_t num_rows() const { return num_rows_; }
  int64_t chunk_of_row(int64_t row) const;
  /// The first row of a chunk with this id or a larger one.
  int64_t first_row_from(int64_t chunk_id) const;
  /// has_key of the row's chunk.
  bool row_has_key(int64_t row) const;
  void copy_row_keys(int64_t begin, int64_t end, std::span<float> keys) const;

  /// "float32", "float16" or "int8".
  const std::string& key_storage() const { return key_storage_; }
  /// Live chunks with a key.
  int64_t num_indexable() const { return num_indexable_; }
  const std::string& embedder_identity() const { return embedder_identity_; }
  const std::string& tokenizer_identity() const { return tokenizer_identity_; }
  /// Content version: neighbour tables and the index name it.
  const std::string& version() const { return version_; }
  /// Versions of this state and of those it came from, as far as they are known: in all of them an
  /// id is that of the same chunk.
  const std::vector<std::string>& known_versions() const { return known_versions_; }
  const std::filesystem::path& directory() const { return directory_; }
  /// Changes since the build.
  int64_t generation() const { return generation_; }
  /// First chunk of shard `shard`; of num_shards(), the number of chunks. Shards hold whole
  /// documents.
  int64_t num_shards() const { return static_cast<int64_t>(shards_.size()); }
  int64_t shard_first_chunk(int64_t shard) const;
  int64_t shard_first_row(int64_t shard) const;
  int64_t shard_first_document(int64_t shard) const;
  /// Names the shard by its content: equal in every state of the database that has it.
  const std::string& shard_identity(int64_t shard) const {
    return shards_[static_cast<size_t>(shard)].identity;
  }
  /// From now on, pages of its files are let go of before the process fills the budget, which also
  /// holds for what is built from this database. Not while other threads read.
  void set_memory_budget(const MemoryBudget& budget);
  const MemoryBudget& memory_budget() const { return memory_budget_; }
  /// Pages of its files that are in memory are let go of; they are read again when they are needed.
  void release_memory() const;
  /// Reads every byte and compares it with the stored hashes. Throws Error naming the damaged file.
  void verify() const;

 private:
  RetrievalDatabase() = default;
  struct Shard {
    std::filesystem::path directory;
    std::string identity;
    int64_t first_chunk = 0;
    int64_t first_document = 0;
    int64_t first_row = 0;
    ArrayFile tokens;
    ArrayFile keys;
    ArrayFile has_key;
  };
  void load(const std::string& manifest_name);
  void add_shard(Shard shard, std::string_view document_lines);
  void mark_deleted(const std::vector<int64_t>& documents);
  void sort_names();
  /// Documents, chunks, tokens, keys, key flags.
  std::array<int64_t, 5> sizes_of_last_shard() const;
  const Shard& shard_of_row(int64_t row) const;
  void check_chunk(int64_t chunk_id) const;
  /// -1 for a hole.
  int64_t document_or_hole(int64_t chunk_id) const;
  /// -1 for a hole.
  int64_t row_of(int64_t chunk_id) const;
  std::span<const uint32_t> tokens_of(int64_t document, int64_t first, int64_t length) const;
  /// So many bytes of its files were read in one piece.
  void count_read(int64_t bytes) const;

  std::filesystem::path directory_;
  int64_t generation_ = 0;
  int64_t num_chunks_ = 0;
  int64_t num_live_chunks_ = 0;
  int64_t num_rows_ = 0;
  int64_t chunk_length_ = 0;
  int64_t key_width_ = 0;
  int64_t num_indexable_ = 0;
  std::string key_storage_;
  std::vector<DatabaseDocument> documents_;
  std::vector<int64_t> document_first_chunk_;
  std::vector<int64_t> document_first_row_;
  std::vector<int64_t> document_first_token_;  ///< within its shard
  std::vector<int64_t> documents_by_name_;     ///< live ones, sorted by (source, id)
  std::vector<Shard> shards_;
  std::string embedder_identity_;
  std::string tokenizer_identity_;
  std::string version_;
  std::vector<std::string> known_versions_;
  MemoryBudget memory_budget_;
  std::shared_ptr<ResidentLimit> resident_limit_;  ///< null: none
};

/// Identity of the embedder that made the keys of the database in `directory`; empty where there is
/// no database or its manifest cannot be read.
std::string stored_embedder_identity(const std::filesystem::path& directory);

/// Cuts, embeds and stores the documents of `grid` (shift 0, config.chunk_length). Streams block by
/// block; after a kill it goes on at the last finished block, with byte-identical files. Does
/// nothing where the same inputs have already been built, also where that database was changed
/// since. Holds the writer's lock (see database_writer.h). Refuses an empty grid and a tokenizer
/// other than the corpus's. Shows progress.
void build_database(const ChunkGrid& grid, const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                    const DatabaseConfig& config, const std::filesystem::path& directory);

/// Part number `index` of `count`, from 0.
struct BuildPart {
  int64_t index = 0;
  int64_t count = 1;
};

/// Shards index, index + count, ... of that database, left in DIRECTORY.partial: several processes
/// that see the same directory make a part each, then build_database finds their shards, makes what
/// is missing and puts the whole in place, with the bytes of one process. Resumes as
/// build_database.
void build_database_part(const ChunkGrid& grid, const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                         const DatabaseConfig& config, const BuildPart& part,
                         const std::filesystem::path& directory);

}  // namespace retro
