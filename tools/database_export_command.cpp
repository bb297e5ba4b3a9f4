// retro database export
#include <cstdio>
#include <optional>

#include <fmt/core.h>

#include "retro/core/file_system.h"
#include "retro/core/progress.h"
#include "retro/run/database_life.h"

#include "database_commands.h"
#include "output.h"

namespace retro::tools {

void add_export_command(CLI::App& database) {
  struct Options {
    DocumentSelection selection;
    std::string output;
  };
  CLI::App* command =
      database.add_subcommand("export", "the documents as JSONL, which `add` reads back");
  const auto path = add_database_argument(*command);
  const auto options = std::make_shared<Options>();
  command->add_option("-o,--output", options->output, "file to write (default: standard output)");
  add_selection_options(*command, options->selection);
  command->callback([path, options] {
    const RunConfig config = load_database_run(*path);
    std::optional<AtomicFile> file;
    if (!options->output.empty()) file.emplace(options->output);
    const int64_t count = export_database(config, options->selection, [&](const std::string& line) {
      file ? file->write(line) : fmt::print("{}", line);
    });
    file ? file->commit() : finish_output();
    fmt::print(stderr, "{} documents\n", format_count(count));
  });
}

}  // namespace retro::tools
