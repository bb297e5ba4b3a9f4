// retro report RUN [RUN...]: one HTML page of a run, or of several side by side.
#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/report/html_report.h"
#include "retro/run/stale_results.h"

#include "command.h"

namespace retro::tools {
namespace {

namespace fs = std::filesystem;

/// A run directory, also where its config file was given.
fs::path run_directory(const fs::path& run) {
  if (fs::is_regular_file(run)) return RunPaths(load_run_config(run, {})).directory();
  RETRO_CHECK(fs::exists(run / "config.yaml") || fs::exists(run / "table.json"),
              "{}: expected the directory of a run (with config.yaml) or of `retro ablate` (with "
              "table.json)",
              run.string());
  return run;
}

fs::path default_output(const std::vector<ReportedRun>& runs) {
  return runs.front().directory / (runs.size() == 1 ? "report.html" : "comparison.html");
}

}  // namespace

void add_report_command(CLI::App& app) {
  struct Options {
    std::vector<std::string> runs;
    std::string output;
  };
  CLI::App* command = app.add_subcommand(
      "report", "one HTML page of a run, or of several side by side; needs no network to read");
  const auto options = std::make_shared<Options>();
  command->add_option("runs", options->runs, "run directories (or their configs)")->required();
  command->add_option("-o,--output", options->output,
                      "the page (default: report.html in the run, comparison.html in the first of "
                      "several)");
  command->callback([options] {
    std::vector<ReportedRun> runs;
    for (const std::string& run : options->runs) {
      const fs::path directory = run_directory(run);
      runs.push_back({directory, stale_results(directory)});
    }
    const fs::path output =
        options->output.empty() ? default_output(runs) : fs::path(options->output);
    write_html_report(runs, output);
    fmt::print("{}\n", fs::absolute(output).lexically_normal().string());
  });
}

}  // namespace retro::tools
