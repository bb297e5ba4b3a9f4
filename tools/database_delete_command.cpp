// retro database delete
#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/run/database_json.h"

#include "database_commands.h"

namespace retro::tools {
namespace {

void print_documents(const std::vector<SelectedDocument>& documents) {
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(kMost, documents.size()); ++i) {
    fmt::print("  {} / {}  {} ({} chunks)\n", documents[i].source, documents[i].id,
               documents[i].title, format_count(documents[i].num_chunks));
  }
  if (documents.size() > kMost) fmt::print("  and {} more\n", documents.size() - kMost);
}

bool is_any_in_corpus(const std::vector<SelectedDocument>& documents) {
  return std::ranges::any_of(documents, &SelectedDocument::is_in_corpus);
}

void print_not_erased(const std::vector<std::filesystem::path>& files, bool is_in_corpus) {
  if (files.empty()) return;
  fmt::print("Not erased, and {}:\n", is_in_corpus ? "made from these documents or quoting them"
                                                   : "may quote these documents");
  for (const auto& file : files) fmt::print("  {}\n", file.string());
}

/// The documents were deleted if there is a `change`.
void print_deletion(const RunConfig& config, const std::vector<SelectedDocument>& documents,
                    const std::optional<DatabaseChange>& change) {
  if (!change) {
    fmt::print("{} documents match\n", format_count(std::ssize(documents)));
    return print_documents(documents);
  }
  fmt::print("deleted {} documents, {} chunks; `retro database compact` takes them off the disk\n",
             format_count(change->documents_deleted), format_count(change->chunks_deleted));
  print_documents(documents);
  print_not_erased(files_not_erased(config, is_any_in_corpus(documents)),
                   is_any_in_corpus(documents));
}

void print_deletion_json(const RunConfig& config, const std::vector<SelectedDocument>& documents,
                         const std::optional<DatabaseChange>& change) {
  nlohmann::json result = to_json(change.value_or(DatabaseChange{}));
  result["documents"] = to_json(documents);
  result["not_erased"] = nlohmann::json::array();
  for (const auto& file : files_not_erased(config, is_any_in_corpus(documents))) {
    result["not_erased"].push_back(file.string());
  }
  print_as_json(result);
}

}  // namespace

void add_delete_command(CLI::App& database) {
  struct Options {
    DocumentSelection selection;
    bool is_dry_run = false;
  };
  CLI::App* command = database.add_subcommand(
      "delete", "documents leave every answer at once, the disk at the next compact");
  const auto path = add_database_argument(*command);
  const auto options = std::make_shared<Options>();
  add_selection_options(*command, options->selection);
  command->add_flag("--dry-run", options->is_dry_run, "only show what would be deleted");
  const auto is_json = add_json_flag(*command);
  command->callback([path, options, is_json] {
    const RunConfig config = load_database_run(*path);
    const auto documents = find_in_database(config, options->selection);
    std::optional<DatabaseChange> change;
    if (!options->is_dry_run) change = delete_from_database(config, options->selection);
    (*is_json ? print_deletion_json : print_deletion)(config, documents, change);
  });
}

}  // namespace retro::tools
