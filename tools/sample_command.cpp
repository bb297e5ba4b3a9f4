// retro sample RUN --prompt TEXT: continue a text with live retrieval.
#include <cstdio>

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/utf8.h"
#include "retro/run/sampling.h"

#include "command.h"

namespace retro::tools {
namespace {

struct SampleOptions {
  std::shared_ptr<ConfigArguments> arguments;
  std::optional<std::string> prompt;
  bool is_json = false;
  bool hides_neighbours = false;
};

void print_live(RunSampler& sampler, const SampleConfig& sample, bool hides_neighbours) {
  const int64_t invalid = first_invalid_utf8(sample.prompt);
  RETRO_CHECK(invalid < 0, "the prompt is not valid UTF-8 at byte {}", invalid);
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  fmt::print("{}{}{}", is_terminal ? "\x1b[2m" : "", sample.prompt, is_terminal ? "\x1b[0m" : "");
  std::fflush(stdout);
  std::string chunks;
  GenerationEvents events;
  events.on_token = [](int64_t, int32_t, const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  events.on_chunk = [&](int64_t, const ChunkView& chunk) {
    chunks += format_chunk(chunk, sampler.tokenizer(), is_terminal);
  };
  const Generation generation = sampler.sample(sample, events);
  fmt::print("\n");
  if (!hides_neighbours)
    fmt::print("\nWhat each chunk could read{}\n\n{}",
               is_terminal ? " (green: runs of 3 tokens or more in both):" : ":", chunks);
  std::fflush(stdout);
  fmt::print(stderr, "{} tokens, {:.1f} tokens/s{}\n", generation.tokens.size(),
             static_cast<double>(generation.tokens.size()) / std::max(1e-9, generation.seconds),
             generation.reached_end_of_document ? ", the document ended" : "");
}

}  // namespace

void add_sample_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("sample", "continue a prompt with live retrieval, and show what was read");
  const auto options = std::make_shared<SampleOptions>();
  options->arguments = add_config_arguments(*command, {"sample"});
  command->add_option("-p,--prompt", options->prompt, "text to continue (default: sample.prompt)");
  command->add_flag("--json", options->is_json, "print JSON, with neighbours and common runs");
  command->add_flag("--no-neighbours", options->hides_neighbours, "print the text alone");
  command->callback([options] {
    RunConfig config = load(*options->arguments);
    if (options->prompt) config.sample.prompt = *options->prompt;
    check_sample_config(config.sample);
    at::set_num_threads(run_threads(config));
    RunSampler sampler(config);
    if (!options->is_json) return print_live(sampler, config.sample, options->hides_neighbours);
    const Generation generation = sampler.sample(config.sample);
    fmt::print("{}\n", generation_json(config.sample, generation, sampler.tokenizer()));
  });
}

}  // namespace retro::tools
