// retro score RUN FILE: a text's losses with retrieval off and on; --last-words: LAMBADA's measure.
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/progress.h"
#include "retro/report/text_page.h"
#include "retro/run/sampling.h"
#include "retro/run/scoring.h"
#include "retro/text/utf8.h"

#include "command.h"

namespace retro::tools {
namespace {

struct ScoreOptions {
  std::string config, file, page;
  std::vector<std::string> overrides;
  bool is_json = false, has_tokens = false, asks_last_words = false;
};

void print_last_words(RunSampler& sampler, const GeneratorOptions& generator,
                      const ScoreOptions& options) {
  const auto passages = read_passages(options.file);
  Progress progress("last words", static_cast<int64_t>(passages.size()), "passages");
  std::vector<LastWord> words;
  for (const std::string& passage : passages) {
    words.push_back(score_last_word(sampler.model(), generator, passage));
    progress.update(static_cast<int64_t>(words.size()));
  }
  progress.finish();
  if (options.is_json) return fmt::print("{}\n", last_words_json(words));
  const LastWordSummary summary = summarise_last_words(words);
  fmt::print("{} passages          off       on\naccuracy        {:>8.4f} {:>8.4f}\n",
             summary.passages, summary.accuracy_off, summary.accuracy_on);
  fmt::print("perplexity      {:>8.2f} {:>8.2f}\n", summary.perplexity_off, summary.perplexity_on);
}

void write_page(const TextScore& score, const RunSampler& sampler, const ScoreOptions& options) {
  const std::string title = std::filesystem::path(options.file).filename().string();
  TextPage page;
  page.title = title;
  page.model = options.config;
  page.examples = examples_json(score_examples(score, sampler.tokenizer(), title));
  page.num_tokens = static_cast<int64_t>(score.scored.tokens.size());
  page.bits_per_byte_off = score.bits_per_byte_off;
  page.bits_per_byte_on = score.bits_per_byte_on;
  write_text_page(page, options.page);
}

void run_score(const ScoreOptions& options) {
  const RunConfig config = load_run_config(options.config, options.overrides);
  at::set_num_threads(run_threads(config));
  RunSampler sampler(config);
  const GeneratorOptions generator = sampler.options(config.sample);
  if (options.asks_last_words) return print_last_words(sampler, generator, options);
  const std::string text = read_file(options.file);
  const int64_t invalid = first_invalid_utf8(text);
  RETRO_CHECK(invalid < 0, "{}: not valid UTF-8 at byte {}", options.file, invalid);
  const TextScore score = score_whole_text(sampler.model(), generator, text);
  if (!options.page.empty()) write_page(score, sampler, options);
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
  command->add_flag("--tokens", options->has_tokens, "print a line for each token");
  command->add_flag("--last-words", options->asks_last_words,
                    "accuracy on the last word of each line's `text`, as LAMBADA measures it");
  command->add_option("--page", options->page,
                      "also write an HTML page: tokens coloured by what retrieval changed, the "
                      "passages of each chunk beside them");
  command->add_flag("--json", options->is_json, "print JSON");
  command->callback([options] { run_score(*options); });
}

}  // namespace retro::tools
