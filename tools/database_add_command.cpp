// retro database add | update
#include <chrono>
#include <filesystem>

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/run/database_json.h"

#include "database_commands.h"

namespace retro::tools {
namespace {

constexpr const char* kFiles =
    "files (.jsonl, .txt, .md, .html, also .gz) and folders of them; a document's id is its path "
    "as given here, or its \"id\" in JSONL";
constexpr const char* kSource =
    "name of their source (default: what a line of JSONL calls its \"source\", else added)";

void print_change(const DatabaseChange& change, double seconds, bool replaces_present) {
  fmt::print("added {} documents, {} chunks, in {:.1f} s\n", format_count(change.documents_added),
             format_count(change.chunks_added), seconds);
  const int64_t num_replaced = change.documents_deleted - change.documents_emptied;
  if (replaces_present) fmt::print("replaced {} documents\n", format_count(num_replaced));
  if (change.documents_emptied > 0) {
    fmt::print("deleted {} documents whose text is empty now\n",
               format_count(change.documents_emptied));
  }
  if (change.documents_deleted > 0) {
    fmt::print("`retro database compact` takes the old ones off the disk\n");
  }
}

void add(CLI::App& database, const std::string& name, const std::string& help,
         bool replaces_present) {
  struct Options {
    std::vector<std::filesystem::path> files;
    std::string source;
  };
  CLI::App* command = database.add_subcommand(name, help);
  const auto path = add_database_argument(*command);
  const auto options = std::make_shared<Options>();
  command->add_option("files", options->files, kFiles)->required();
  const CLI::Option* source = command->add_option("--source", options->source, kSource);
  const auto is_json = add_json_flag(*command);
  command->callback([path, options, source, is_json, replaces_present] {
    RETRO_CHECK(source->count() == 0 || !options->source.empty(),
                "--source is empty: documents need a source to be found by");
    const auto start = std::chrono::steady_clock::now();
    const DatabaseChange change = add_to_database(load_database_run(*path), options->files,
                                                  options->source, replaces_present);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (*is_json) return print_as_json(to_json(change));
    print_change(change, time.count(), replaces_present);
  });
}

}  // namespace

void add_add_commands(CLI::App& database) {
  add(database, "add", "documents become searchable at once; the model stays as it is", false);
  add(database, "update", "as add, but documents that are there are replaced", true);
}

}  // namespace retro::tools
