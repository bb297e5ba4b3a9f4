// A run's retrieval database, changed and looked at by commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/document_selection.h"
#include "retro/run/run_config.h"

namespace retro {

/// `path` is a run directory, its config, or its database directory.
RunConfig load_database_run(const std::filesystem::path& path);
DatabasePlace database_place(const RunConfig& config);

/// Documents of these files and folders, under this source name. `replaces_present`: those that are
/// there are replaced, else refused.
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
std::vector<SelectedDocument> find_in_database(const RunConfig& config,
                                               const DocumentSelection& selection);
DatabaseChange delete_from_database(const RunConfig& config, const DocumentSelection& selection);

/// Files of the run that deletion and compaction do not touch. Those made from the corpus matter
/// for a document of the corpus; the others may quote any document.
std::vector<std::filesystem::path> files_not_erased(const RunConfig& config, bool is_in_corpus);

void compact_database(const RunConfig& config);
/// Checksums of database and index, every neighbour table, and the index's recall measured again.
/// Prints a line for each; throws Error at the first damage. Returns how many tables are whole, but
/// of an older state of the database.
int64_t verify_database(const RunConfig& config);
/// Brings every neighbour table of the run to the database as it is now.
void refresh_neighbours(const RunConfig& config);
std::string describe_database(const RunConfig& config);
/// Hands every matching document to `sink` as a line of JSONL. Returns their number.
int64_t export_database(const RunConfig& config, const DocumentSelection& selection,
                        const std::function<void(const std::string& line)>& sink);

}  // namespace retro
