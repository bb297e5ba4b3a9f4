// A run's retrieval database, changed and looked at by commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/document_selection.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/run/run_config.h"

namespace retro {

/// `path` is a run directory, its config, or its database directory.
RunConfig load_database_run(const std::filesystem::path& path);
DatabasePlace database_place(const RunConfig& config);

/// Documents of these files and folders, under this source name; empty: under what a JSONL line
/// calls its source, else "added". `replaces_present`: those that are there are replaced, else
/// refused.
DatabaseChange add_to_database(const RunConfig& config,
                               const std::vector<std::filesystem::path>& files,
                               const std::string& source, bool replaces_present);

/// One of the documents a selection matches, with what else of the run was made from it.
struct SelectedDocument {
  std::string source;
  std::string id;
  std::string title;
  int64_t num_chunks = 0;
  bool is_in_corpus = false;
};
/// What delete_from_database would delete; like it, refuses a selection that names nothing.
std::vector<SelectedDocument> find_in_database(const RunConfig& config,
                                               const DocumentSelection& selection);
DatabaseChange delete_from_database(const RunConfig& config, const DocumentSelection& selection);

/// Files of the run that deletion and compaction do not touch. Those made from the corpus matter
/// for a document of the corpus; the others may quote any document.
std::vector<std::filesystem::path> files_not_erased(const RunConfig& config, bool is_in_corpus);

void compact_database(const RunConfig& config);

/// What is whole, and how the index finds now.
struct DatabaseVerification {
  int64_t num_chunks = 0;
  int64_t num_documents = 0;
  std::string index_type;
  double recall_at_10 = 0;  ///< NaN: not measured; likewise below
  double recall_at_10_when_built = 0;
  int64_t num_tables = 0;        ///< of neighbours
  int64_t num_stale_tables = 0;  ///< of them: of an older state of the database
};
/// Checksums of database and index, every neighbour table, and the index's recall measured again.
/// Prints a line for each; throws Error at the first damage.
DatabaseVerification verify_database(const RunConfig& config);

struct RefreshedTable {
  std::string name;
  NeighbourTableSummary summary;
};
/// Brings every neighbour table of the run to the database as it is now. Prints a line for each.
std::vector<RefreshedTable> refresh_neighbours(const RunConfig& config);
/// Hands every matching document to `sink` as a line of JSONL. Returns their number.
int64_t export_database(const RunConfig& config, const DocumentSelection& selection,
                        const std::function<void(const std::string& line)>& sink);

}  // namespace retro
