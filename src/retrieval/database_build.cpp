// build_database: see retrieval_database.h; the files are described in database_format.h.
#include <algorithm>
#include <fstream>
#include <numeric>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/retrieval/writer_lock.h"

#include "database_format.h"
#include "document_lines.h"
#include "key_blocks.h"
#include "key_storage.h"
#include "resident_limit.h"
#include "resumable_directory.h"
#include "shard_writer.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

/// Documents [first, last) of the grid.
struct ShardPlan {
  int64_t first = 0;
  int64_t last = 0;
};

std::vector<ShardPlan> plan_shards(const ChunkGrid& grid, int64_t shard_chunks) {
  std::vector<ShardPlan> shards;
  for (int64_t d = 0; d < grid.num_documents(); ++d) {
    if (shards.empty() || grid.first_row(d) - grid.first_row(shards.back().first) >= shard_chunks) {
      shards.push_back({d, d});
    }
    shards.back().last = d + 1;
  }
  return shards;
}

/// A document's row of the corpus as the database keeps it.
DatabaseDocument database_document(const DocumentInfo& info) {
  DatabaseDocument document;
  document.id = info.id;
  document.group = info.group;
  document.source = info.source;
  document.title = info.title;
  document.fields = info.fields;
  document.num_tokens = info.num_tokens;
  document.num_bytes = info.num_bytes;
  return document;
}

/// Fewest chunks embedded at once, where a budget is tight.
constexpr int64_t kSmallestBlock = 256;
/// A chunk's text, while its block is embedded.
constexpr int64_t kTextBytes = 1024;

/// Chunks of a block, so that their keys, the same as stored, and their texts fit the budget.
/// Throws Error where not even a small block does.
int64_t affordable_block(const ChunkGrid& grid, int64_t key_width, const DatabaseConfig& config) {
  const MemoryBudget budget = MemoryBudget::parse(config.memory_budget);
  const int64_t row_bytes = key_width * static_cast<int64_t>(sizeof(float)) +
                            stored_key_bytes(config.key_storage, key_width) + kTextBytes;
  MemoryNeeds needs(grid.corpus().num_documents());
  const int64_t least = std::min(kSmallestBlock, config.block_chunks);
  const int64_t left = budget.left_beside(needs);
  needs.add(fmt::format("a block of {} chunks", least), least * row_bytes);
  budget.require("the database", needs);
  return std::clamp(left / 2 / row_bytes, least, config.block_chunks);
}

class DatabaseBuilder {
 public:
  DatabaseBuilder(const ChunkGrid& grid, const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                  const DatabaseConfig& config, std::string made_from)
      : grid_(grid),
        tokenizer_(tokenizer),
        embedder_(embedder),
        config_(config),
        block_chunks_(affordable_block(grid, embedder.key_width(), config)),
        progress_("database", grid.num_rows(), "chunks") {
    const MemoryBudget budget = MemoryBudget::parse(config.memory_budget);
    if (budget.is_limited()) resident_limit_ = std::make_unique<ResidentLimit>(budget);
    manifest_.made_from = std::move(made_from);
    manifest_.chunk_length = config.chunk_length;
    manifest_.key_width = embedder.key_width();
    manifest_.key_storage = config.key_storage;
    manifest_.embedder = embedder.identity();
    manifest_.tokenizer = tokenizer.identity();
  }

  void build_part(const BuildPart& part, const fs::path& directory) {
    const std::vector<ShardPlan> plans = plan_shards(grid_, config_.shard_chunks);
    for (auto s = static_cast<size_t>(part.index); s < plans.size();
         s += static_cast<size_t>(part.count)) {
      const fs::path shard = directory / format::shard_name(static_cast<int64_t>(s));
      if (!fs::exists(shard / format::kShard)) build_shard(plans[s], shard);
    }
    progress_.finish();
  }

  void build(const fs::path& directory) {
    std::vector<format::ShardRecord> records;
    const std::vector<ShardPlan> plans = plan_shards(grid_, config_.shard_chunks);
    for (size_t s = 0; s < plans.size(); ++s) {
      manifest_.shards.push_back(format::shard_name(static_cast<int64_t>(s)));
      const fs::path shard = directory / manifest_.shards.back();
      if (!fs::exists(shard / format::kShard)) build_shard(plans[s], shard);
      progress_.update(grid_.first_row(plans[s].last));
      records.push_back(format::read_shard(shard));
    }
    progress_.finish();
    manifest_.version = format::content_version(manifest_, records);
    format::write_manifest(directory, manifest_);
    say_result(records);
  }

 private:
  void build_shard(const ShardPlan& plan, const fs::path& directory) {
    fs::create_directories(directory);
    write_documents(plan, directory);
    const int64_t begin = grid_.first_row(plan.first);
    const int64_t end = grid_.first_row(plan.last);
    const KeyFiles files{manifest_.key_width, format::header_of(format::expected_keys(manifest_)),
                         format::header_of(format::expected_has_key(manifest_))};
    write_key_files(
        key_block_files(directory, files, end - begin, block_chunks_), files, begin,
        [&](int64_t first, int64_t last, std::span<float> keys, std::span<uint8_t> has_key) {
          std::vector<int64_t> rows(static_cast<size_t>(last - first));
          std::iota(rows.begin(), rows.end(), first);
          embed_rows(grid_, rows, tokenizer_, embedder_, keys, has_key);
          count_tokens(plan, (last - first) * grid_.chunk_length());
        },
        [&](int64_t done) { progress_.update(begin + done); });
    format::write_shard(directory, describe_shard(directory, manifest_, plan.last - plan.first));
  }

  void write_documents(const ShardPlan& plan, const fs::path& directory) const {
    // The table is written last: where it is, both are.
    if (fs::exists(directory / format::kDocuments)) return;
    ArrayFileWriter tokens(directory / format::kTokens,
                           format::header_of(format::expected_tokens(manifest_)));
    AtomicFile documents(directory / format::kDocuments);
    for (int64_t d = plan.first; d < plan.last; ++d) {
      const int64_t number = grid_.document(d);
      tokens.append(grid_.corpus().tokens(number));
      count_tokens(plan, grid_.corpus().document(number).num_tokens);
      documents.write(document_line(database_document(grid_.corpus().document(number))));
    }
    tokens.commit();
    documents.commit();
  }

  /// So many tokens of the shard's documents were read.
  void count_tokens(const ShardPlan& plan, int64_t count) const {
    if (!resident_limit_) return;
    resident_limit_->count(count * static_cast<int64_t>(sizeof(uint32_t)), [&] {
      for (int64_t d = plan.first; d < plan.last; ++d) {
        release_pages(std::as_bytes(grid_.corpus().tokens(grid_.document(d))));
      }
    });
  }

  void say_result(const std::vector<format::ShardRecord>& records) const {
    int64_t num_keyless = 0;
    for (const format::ShardRecord& record : records) num_keyless += record.num_keyless;
    log_info("database: {} chunks of {} documents in {} shards, {} chunks without a key",
             format_count(grid_.num_rows()), format_count(grid_.num_documents()), records.size(),
             format_count(num_keyless));
  }

  const ChunkGrid& grid_;
  const Tokenizer& tokenizer_;
  ChunkEmbedder& embedder_;
  const DatabaseConfig& config_;
  int64_t block_chunks_;
  std::unique_ptr<ResidentLimit> resident_limit_;  ///< null: no budget
  format::Manifest manifest_;
  Progress progress_;
};

void check_inputs(const ChunkGrid& grid, const Tokenizer& tokenizer, const DatabaseConfig& config) {
  RETRO_CHECK(grid.num_rows() > 0,
              "the retrieval database would be empty: no document has the role `database`; check "
              "corpus.sources");
  RETRO_CHECK(grid.chunk_length() == config.chunk_length && grid.shift() == 0,
              "database.chunk_length is {}, the grid has chunks of {} tokens, shifted by {}",
              config.chunk_length, grid.chunk_length(), grid.shift());
  RETRO_CHECK(config.block_chunks > 0 && config.shard_chunks > 0,
              "database.block_chunks is {} and database.shard_chunks {}, both must be positive",
              config.block_chunks, config.shard_chunks);
  RETRO_CHECK(grid.corpus().tokenizer_identity() == tokenizer.identity(),
              "the corpus was made with the tokenizer {}, not with {}; run `retro corpus` again",
              grid.corpus().tokenizer_identity(), tokenizer.identity());
}

/// What the content depends on; how it is cut into blocks and shards is not part of it.
std::string hash_of_content(const ChunkGrid& grid, const Tokenizer& tokenizer,
                            const ChunkEmbedder& embedder, const DatabaseConfig& config) {
  Hasher hasher;
  hasher.add("database").add(format::kVersion).add(grid.hash()).add(tokenizer.identity());
  hasher.add(embedder.identity()).add(config.key_storage);
  return hasher.hex();
}

std::string hash_of_build(const std::string& content, const DatabaseConfig& config) {
  return Hasher().add(content).add(config.shard_chunks).hex();
}

/// Tokens and keys, and once more the keys of the shard whose blocks are being joined.
uint64_t needed_bytes(const ChunkGrid& grid, int64_t key_width, const DatabaseConfig& config) {
  const int64_t row_bytes = stored_key_bytes(config.key_storage, key_width) + 1;
  const int64_t rows = grid.num_rows() + std::min(grid.num_rows(), config.shard_chunks);
  return static_cast<uint64_t>(rows * row_bytes) +
         static_cast<uint64_t>(grid.num_rows() * grid.chunk_length()) * sizeof(uint32_t);
}

}  // namespace

void build_database_part(const ChunkGrid& grid, const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                         const DatabaseConfig& config, const BuildPart& part,
                         const fs::path& directory) {
  check_inputs(grid, tokenizer, config);
  RETRO_CHECK(part.count > 0 && part.index >= 0 && part.index < part.count,
              "part {} of {} does not exist; parts are counted from 0", part.index, part.count);
  const FileLock lock =
      lock_database(fmt::format("{}.part_{}_of_{}", directory.string(), part.index, part.count));
  const std::string made_from = hash_of_content(grid, tokenizer, embedder, config);
  const ResumableDirectory work(directory, hash_of_build(made_from, config),
                                [&] { RetrievalDatabase(directory).verify(); });
  if (work.is_complete()) {
    log_info("database: {} is up to date", directory.string());
    return;
  }
  refuse_to_undo_changes(directory);
  DatabaseBuilder(grid, tokenizer, embedder, config, made_from).build_part(part, work.path());
}

void build_database(const ChunkGrid& grid, const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                    const DatabaseConfig& config, const fs::path& directory) {
  check_inputs(grid, tokenizer, config);
  const FileLock lock = lock_database(directory);
  const std::string made_from = hash_of_content(grid, tokenizer, embedder, config);
  ResumableDirectory work(directory, hash_of_build(made_from, config),
                          [&] { RetrievalDatabase(directory).verify(); });
  if (work.is_complete()) {
    log_info("database: {} is up to date", directory.string());
    return;
  }
  refuse_to_undo_changes(directory);
  const uint64_t needed = needed_bytes(grid, embedder.key_width(), config);
  require_free_disk(work.path(), needed - std::min(needed, work.size_bytes()),
                    "the retrieval database");
  DatabaseBuilder(grid, tokenizer, embedder, config, made_from).build(work.path());
  work.publish();
}

namespace {

/// What only a database has that was changed since it was built: a list of deleted documents,
/// shards whose documents say where they begin, a shard that is gone.
bool has_signs_of_change(const fs::path& directory) {
  if (!fs::is_directory(directory)) return false;
  int64_t num_shards = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("deleted_")) return true;
    if (!name.starts_with("shard_") || !entry.is_directory()) continue;
    ++num_shards;
    std::ifstream documents(entry.path() / format::kDocuments);
    std::string line;
    std::getline(documents, line);
    if (line.find("\"first_chunk\":") != std::string::npos) return true;
  }
  for (int64_t shard = 0; shard < num_shards; ++shard) {
    if (!fs::exists(directory / format::shard_name(shard))) return true;
  }
  return false;
}

}  // namespace

void refuse_to_undo_changes(const fs::path& directory) {
  int64_t num_changes = 0;
  try {
    num_changes = format::read_manifest(directory).generation;
  } catch (const Error&) {
    RETRO_CHECK(!has_signs_of_change(directory),
                "{}: {} cannot be read, and other files show that the database was changed since "
                "it was built; another build would undo that: restore it from a copy, or move the "
                "folder away",
                directory.string(), format::kManifest);
    return;
  }
  RETRO_CHECK(num_changes == 0,
              "{}: changed {} times since it was built, and what is asked for is another build, "
              "which would undo that: go back to the configuration it was built with, restore it "
              "from a copy where it is damaged, or move the folder away",
              directory.string(), num_changes);
}

}  // namespace retro
