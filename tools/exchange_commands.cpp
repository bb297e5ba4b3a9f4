// retro import PATH OUT and retro export PATH OUT: checkpoints of other projects.
#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/run/checkpoint_exchange.h"

#include "command.h"

namespace retro::tools {
namespace {

struct Paths {
  std::string source, out;
};

std::shared_ptr<Paths> add_paths(CLI::App& command, const std::string& source_help,
                                 const std::string& out_help) {
  const auto paths = std::make_shared<Paths>();
  command.add_option("source", paths->source, source_help)->required();
  command.add_option("out", paths->out, out_help)->required();
  return paths;
}

}  // namespace

void add_exchange_commands(CLI::App& app) {
  // Not named after the command: to clang-format 14 `import` is a keyword.
  CLI::App* in =
      app.add_subcommand("import", "a Llama-family or GPT-2 checkpoint as a base for `retro fit`");
  const auto from =
      add_paths(*in, "Hugging Face directory (config.json, safetensors), or a GGUF file",
                "directory to write, named in fit.base afterwards");
  in->callback([from] {
    const ImportSummary summary = import_checkpoint(from->source, from->out);
    fmt::print("{} weights: {}\n", format_count(summary.num_parameters), summary.architecture);
    fmt::print("{}\n", summary.tokenizer.empty()
                           ? "no tokenizer beside them: name one in tokenizer.path"
                           : "tokenizer: " + summary.tokenizer.string());
  });
  CLI::App* out = app.add_subcommand(
      "export", "the decoder of a checkpoint in the Hugging Face layout, for `transformers`");
  const auto paths =
      add_paths(*out, "imported directory, checkpoint directory, or a run (its baseline)",
                "directory to write");
  out->callback([paths] {
    export_checkpoint(paths->source, paths->out);
    fmt::print("wrote {}\n", paths->out);
  });
}

}  // namespace retro::tools
