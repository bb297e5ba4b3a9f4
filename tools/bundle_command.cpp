// retro bundle RUN OUT: a trained run in one file, for others to sample from.
#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/run/run_bundle.h"

#include "command.h"

namespace retro::tools {
namespace {

const char* const kUse =
    "The file is a tar archive. `retro sample FILE`, `retro score FILE` and `retro database "
    "query,\n"
    "stats, verify, export FILE` read it where it lies. To go on changing the database, unpack it\n"
    "into a run directory: mkdir DIR && tar -xf FILE -C DIR\n";

void print_summary(const std::string& out, const BundleSummary& summary, const RunConfig& config) {
  fmt::print("wrote {}: {}\n", out, format_bytes(summary.all));
  fmt::print("  weights {}, database {}", format_bytes(summary.weights),
             format_bytes(summary.database));
  if (summary.encoder > 0) {
    fmt::print(", encoder {}\n", format_bytes(summary.encoder));
  } else {
    fmt::print("; the encoder is not in it, but read from {}\n", config.embed.model);
  }
  fmt::print("`retro sample {} -p TEXT` writes on from a text\n", out);
}

}  // namespace

void add_bundle_command(CLI::App& app) {
  struct Options {
    std::string run, out;
    bool leaves_encoder = false;
  };
  CLI::App* command = app.add_subcommand(
      "bundle", "one file with weights, tokenizer, database and encoder, for `retro sample`");
  const auto options = std::make_shared<Options>();
  command->add_option("run", options->run, "run directory, or its config")->required();
  command->add_option("out", options->out, "file to write (runs/x.retro)")->required();
  command->add_flag("--no-encoder", options->leaves_encoder,
                    "leave the encoder out: embed.model names where it is read from");
  command->footer(kUse);
  command->callback([options] {
    const RunConfig config = load_run_config(options->run, {});
    print_summary(options->out,
                  bundle_run(config, options->out, {.has_encoder = !options->leaves_encoder}),
                  config);
  });
}

}  // namespace retro::tools
