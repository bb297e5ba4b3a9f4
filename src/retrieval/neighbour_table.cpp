#include "retro/retrieval/neighbour_table.h"

#include <algorithm>
#include <memory>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/retrieval/writer_lock.h"

#include "grid_key_part.h"
#include "resumable_directory.h"
#include "table_builder.h"
#include "table_format.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
std::string describe(const IndexReport& report) {
  if (report.type == "exact") return "exact";
  return fmt::format("{}, {} lists, {} probed, recall@10 {}, distances re-ranked exactly",
                     report.type, report.num_lists, report.num_probes,
                     format_recall(report.recall_at_10));
}

std::string hash_of_inputs(const ChunkGrid& grid, const std::string& keys_made_from,
                           const NeighbourIndex& index, const TableSettings& settings) {
  Hasher hasher;
  hasher.add("neighbour table").add(table_format::kVersion).add(grid.hash());
  hasher.add(keys_made_from).add(index.database().version());
  hasher.add(index.report().identity)
      .add(index.report().num_probes)
      .add(index.report().rerank_factor)
      .add(exclusion_name(settings.exclusion))
      .add(settings.num_neighbours);
  if (settings.database_fraction < 1.0) {
    hasher.add(fmt::format("fraction {}", settings.database_fraction));
  }
  return hasher.hex();
}

void check_number(const NeighbourIndex& index, int64_t num_neighbours) {
  RETRO_CHECK(num_neighbours > 0, "a neighbour table of {} neighbours is not possible",
              num_neighbours);
  const int64_t num_indexed = index.report().num_indexed;
  if (num_neighbours > num_indexed) {
    log_warning(
        "neighbours: {} neighbours are asked for, the database has {} chunks with a key; the "
        "others are missing",
        num_neighbours, num_indexed);
  }
}

void check_inputs(const ChunkGrid& grid, const GridKeys& keys, const NeighbourIndex& index,
                  int64_t num_neighbours) {
  RETRO_CHECK(static_cast<int64_t>(keys.keys.rows()) == grid.num_rows() &&
                  static_cast<int64_t>(keys.has_key.rows()) == grid.num_rows() &&
                  static_cast<int64_t>(keys.keys.columns()) == index.database().key_width(),
              "{}: {} keys of width {} do not fit {} chunks and a database of width {}; {}",
              keys.keys.path().string(), keys.keys.rows(), keys.keys.columns(), grid.num_rows(),
              index.database().key_width(), table_format::kRebuild);
  check_number(index, num_neighbours);
}

}  // namespace

NeighbourTable::NeighbourTable(const fs::path& directory, const std::string& database_version,
                               const std::string& grid_hash) {
  const table_format::Manifest manifest = table_format::read_manifest(directory);
  RETRO_CHECK(
      manifest.database_version == database_version,
      "{}: the neighbours come from database version {}, expected {}; {}, or `retro database "
      "refresh` after a change of the database",
      directory.string(), manifest.database_version, database_version, table_format::kRebuild);
  RETRO_CHECK(manifest.grid_hash == grid_hash,
              "{}: the neighbours belong to other chunks (grid {}, expected {}); {}",
              directory.string(), manifest.grid_hash, grid_hash, table_format::kRebuild);
  ids_ = {directory / table_format::kIds,
          table_format::expected_ids(manifest.made_from, manifest.num_neighbours)};
  distances_ = {directory / table_format::kDistances,
                table_format::expected_distances(manifest.made_from, manifest.num_neighbours)};
  summary_ = manifest.summary;
  RETRO_CHECK(ids_.rows() == distances_.rows() && num_rows() == summary_.num_rows,
              "{}: {} rows of ids and {} of distances, expected {}; {}", directory.string(),
              ids_.rows(), distances_.rows(), summary_.num_rows, table_format::kRebuild);
}

namespace {

struct TableInputs {
  const ChunkGrid& grid;
  const GridKeys& keys;
  const NeighbourIndex& index;
  TableSettings settings;
};

/// `before`, where given, is an older state of the same table.
NeighbourTableSummary write_table(const TableInputs& in, const EarlierTable& before,
                                  const fs::path& directory) {
  const std::string made_from =
      hash_of_inputs(in.grid, in.keys.keys.header().source_hash, in.index, in.settings);
  const RetrievalDatabase& database = in.index.database();
  const auto open = [&] { return NeighbourTable(directory, database.version(), in.grid.hash()); };
  ResumableDirectory work(directory, made_from, [&] { open().verify(); });
  if (work.is_complete()) return open().summary();
  // The caller keeps the keys.
  const std::shared_ptr<const GridKeys> keys(std::shared_ptr<const void>(), &in.keys);
  const TableBuilder builder(
      in.grid,
      [keys](int64_t) {
        return KeyRows{keys, 0};
      },
      in.index, in.settings, before);
  builder.write(work.path(), made_from);
  const NeighbourTableSummary summary = builder.summarise(work.path(), made_from);
  table_format::write_manifest(
      work.path(),
      {made_from, database.version(), in.grid.hash(), exclusion_name(in.settings.exclusion),
       describe(in.index.report()), in.settings.num_neighbours, summary, database.num_chunks(),
       in.index.report().identity});
  work.publish();
  return summary;
}

/// Its rows, brought up to date, are those of a full search: same chunks, same exclusion, a state
/// of this very database, and lists that give the same answers as then.
bool can_be_refreshed(const table_format::Manifest& manifest, const TableInputs& in) {
  const bool has_same_lists = manifest.index == "exact"
                                  ? in.index.is_exact()
                                  : manifest.index_identity == in.index.report().identity;
  const auto& versions = in.index.database().known_versions();
  const bool has_same_ids = std::ranges::count(versions, manifest.database_version) > 0;
  return manifest.next_chunk > 0 && has_same_ids && has_same_lists &&
         manifest.grid_hash == in.grid.hash() &&
         manifest.exclusion == exclusion_name(in.settings.exclusion) &&
         manifest.num_neighbours == in.settings.num_neighbours;
}

}  // namespace

NeighbourTableSummary build_neighbour_table(const ChunkGrid& grid, const GridKeys& keys,
                                            const NeighbourIndex& index, Exclusion exclusion,
                                            int64_t num_neighbours, int num_threads,
                                            const fs::path& directory, double database_fraction) {
  check_inputs(grid, keys, index, num_neighbours);
  return write_table(
      {grid, keys, index, {exclusion, num_neighbours, num_threads, database_fraction}}, {},
      directory);
}

void build_neighbour_table_part(const TablePartInputs& in, const BuildPart& part,
                                const fs::path& keys_directory, const fs::path& directory) {
  check_number(in.index, in.settings.num_neighbours);
  RETRO_CHECK(part.count > 0 && part.index >= 0 && part.index < part.count,
              "part {} of {} does not exist; parts are counted from 0", part.index, part.count);
  const FileLock lock =
      lock_database(fmt::format("{}.part_{}_of_{}", directory.string(), part.index, part.count));
  const RetrievalDatabase& database = in.index.database();
  const GridKeyPart keys =
      embed_grid_keys_part(in.grid, database, in.tokenizer, in.embedder, part, keys_directory);
  const std::string made_from = hash_of_inputs(in.grid, keys.made_from, in.index, in.settings);
  const ResumableDirectory work(directory, made_from, [&] {
    NeighbourTable(directory, database.version(), in.grid.hash()).verify();
  });
  if (work.is_complete()) return;
  TableBuilder(in.grid, keys.open, in.index, in.settings).write_part(work.path(), made_from, part);
}

NeighbourTableSummary refresh_neighbour_table(const ChunkGrid& grid, const GridKeys& keys,
                                              const NeighbourIndex& index, Exclusion exclusion,
                                              int64_t num_neighbours, int num_threads,
                                              const fs::path& directory, double database_fraction) {
  check_inputs(grid, keys, index, num_neighbours);
  const TableInputs in{
      grid, keys, index, {exclusion, num_neighbours, num_threads, database_fraction}};
  if (database_fraction < 1.0) return write_table(in, {}, directory);
  recover_directory(directory);
  if (!fs::exists(directory / table_format::kManifest)) return write_table(in, {}, directory);
  const table_format::Manifest manifest = table_format::read_manifest(directory);
  if (!can_be_refreshed(manifest, in)) return write_table(in, {}, directory);
  const NeighbourTable before(directory, manifest.database_version, manifest.grid_hash);
  before.verify();
  return write_table(in, {&before, manifest.next_chunk}, directory);
}

}  // namespace retro
