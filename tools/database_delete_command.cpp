// retro database delete
#include <algorithm>

#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/run/database_life.h"

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

void print_not_erased(const RunConfig& config, const std::vector<SelectedDocument>& documents) {
  const bool is_in_corpus =
      std::ranges::any_of(documents, [](const auto& document) { return document.is_in_corpus; });
  const auto files = files_not_erased(config, is_in_corpus);
  if (files.empty()) return;
  fmt::print("Not erased, and {}:\n", is_in_corpus ? "made from these documents or quoting them"
                                                   : "may quote these documents");
  for (const auto& file : files) fmt::print("  {}\n", file.string());
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
  command->callback([path, options] {
    const RunConfig config = load_database_run(*path);
    const auto documents = find_in_database(config, options->selection);
    if (options->is_dry_run) {
      fmt::print("{} documents match\n", format_count(static_cast<int64_t>(documents.size())));
      return print_documents(documents);
    }
    const DatabaseChange change = delete_from_database(config, options->selection);
    fmt::print(
        "deleted {} documents, {} chunks; `retro database compact` takes them off the disk\n",
        format_count(change.documents_deleted), format_count(change.chunks_deleted));
    print_documents(documents);
    if (change.documents_deleted > 0) print_not_erased(config, documents);
  });
}

}  // namespace retro::tools
