// retro score RUN FILE: a text's losses with retrieval off and on; --last-words: LAMBADA's measure.
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/utf8.h"
#include "retro/report/text_page.h"
#include "retro/run/sampling.h"
#include "retro/run/scoring.h"

#include "command.h"

namespace retro::tools {
namespace {

struct ScoreOptions {
  std::string config, file, page;
  std::vector<std::string> overrides;
  bool is_json = false, has_tokens = false, asks_last_words = false;
};

void run_score(const ScoreOptions& options) {
  const RunConfig config = load_run_config(options.config, options.overrides);
  at::set_num_threads(run_threads(config));
  RunSampler sampler(config);
  const GeneratorOptions generator = sampler.options(config.sample);
  if (options.asks_last_words) {
    const auto words = score_last_words(sampler.model(), generator, read_passages(options.file));
    return fmt::print("{}\n", options.is_json ? last_words_json(words) : format_last_words(words));
  }
  const std::string text = read_file(options.file);
  const int64_t invalid = first_invalid_utf8(text);
  RETRO_CHECK(invalid < 0, "{}: not valid UTF-8 at byte {}", options.file, invalid);
  const TextScore score = score_whole_text(sampler.model(), generator, text);
  const std::string title = std::filesystem::path(options.file).filename().string();
  if (!options.page.empty())
    write_text_page(score_page(score, sampler.tokenizer(), title, options.config), options.page);
  fmt::print("{}\n", options.is_json
                         ? score_json(score, sampler.tokenizer())
                         : format_score(score, sampler.tokenizer(), options.has_tokens));
}

}  // namespace

void add_score_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "score", "losses of a text of your own, token by token, with retrieval off and on");
  const auto options = std::make_shared<ScoreOptions>();
  command->add_option("config", options->config, "run directory or its config")->required();
  command->add_option("file", options->file, "text to score; with --last-words a JSONL of passages")
      ->required();
  command->add_option("overrides", options->overrides, "key=value (sample.neighbours=2)");
  auto* tokens = command->add_flag("--tokens", options->has_tokens, "print a line for each token");
  auto* last_words =
      command->add_flag("--last-words", options->asks_last_words,
                        "accuracy on the last word of each line's `text`, as LAMBADA measures it");
  auto* page =
      command->add_option("--page", options->page,
                          "also write an HTML page: tokens coloured by what retrieval changed, the "
                          "passages of each chunk beside them");
  auto* json = command->add_flag("--json", options->is_json, "print JSON, its tokens included");
  last_words->excludes(page)->excludes(tokens);
  json->excludes(tokens);
  command->callback([options] { run_score(*options); });
}

}  // namespace retro::tools
