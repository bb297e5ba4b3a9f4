#include "retro/run/sampling.h"

#include <optional>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/utf8.h"
#include "retro/core/wrap_text.h"
#include "retro/retrieval/live_database.h"
#include "retro/run/model_setup.h"
#include "retro/run/run_embedder.h"
#include "retro/run/stages.h"

namespace retro {

struct RunSampler::Impl {
  explicit Impl(const RunConfig& config)
      : paths(config),
        tokenizer(load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document)),
        embedder(run_embedder(config)),
        live({paths.database(), paths.index()}),
        num_threads(run_threads(config)),
        model(load_trained_model(config, "retro")),
        window_length(config.sample.sequence_length > 0 ? config.sample.sequence_length
                                                        : config.train.sequence_length) {
    refresh();
  }

  /// Sees what was added and deleted since; a generation keeps the state it began with.
  void refresh() {
    auto newest = live.newest();
    if (newest == snapshot) return;
    fetcher.reset();
    retriever.emplace(*newest->database, *newest->index, *embedder);
    fetcher.emplace(*retriever, *tokenizer, num_threads);
    snapshot = std::move(newest);
  }

  RunPaths paths;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChunkEmbedder> embedder;
  LiveDatabase live;
  int num_threads;
  std::shared_ptr<const DatabaseSnapshot> snapshot;
  std::optional<Retriever> retriever;
  std::optional<LiveNeighbours> fetcher;
  RetroModel model;
  int64_t window_length;
};

RunSampler::RunSampler(const RunConfig& config) : impl_(std::make_unique<Impl>(config)) {}
RunSampler::~RunSampler() = default;

const Tokenizer& RunSampler::tokenizer() const { return *impl_->tokenizer; }

RetroModel& RunSampler::model() { return impl_->model; }

GeneratorOptions RunSampler::options(const SampleConfig& sample) const {
  GeneratorOptions options;
  options.tokenizer = impl_->tokenizer.get();
  options.fetcher = sample.retrieval ? &*impl_->fetcher : nullptr;
  options.window_length = impl_->window_length;
  options.neighbours = sample.neighbours;
  return options;
}

Generation RunSampler::sample(const SampleConfig& sample, const GenerationEvents& events) {
  if (sample.retrieval) impl_->refresh();
  Generator generator(impl_->model, options(sample));
  return generator.generate({impl_->tokenizer->encode(sample.prompt).ids}, sample, events).front();
}

namespace {

constexpr int32_t kShortestRun = 3;  // shorter runs are chance: "of the", ", and"

/// Stretches of tokens that are, or are not, in a common run; a run's tokens before its length
/// shows count too.
struct Stretch {
  std::string text;
  bool is_common = false;
};

std::vector<Stretch> stretches(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                               std::span<const int32_t> runs) {
  std::vector<bool> is_common(tokens.size(), false);
  for (size_t i = 0; i < tokens.size() && i < runs.size(); ++i) {
    if (runs[i] < kShortestRun) continue;
    for (int32_t back = 0; back < runs[i] && static_cast<size_t>(back) <= i; ++back)
      is_common[i - static_cast<size_t>(back)] = true;
  }
  std::vector<Stretch> result;
  size_t begin = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const bool ends = i == tokens.size() || is_common[i] != is_common[begin] || tokens[i] < 0;
    if (!ends) continue;
    if (i > begin) {
      result.push_back({replace_broken_utf8(tokenizer.decode(tokens.subspan(begin, i - begin))),
                        is_common[begin]});
    }
    begin = i;
    if (i < tokens.size() && tokens[i] < 0) {
      while (begin < tokens.size() && tokens[begin] < 0) ++begin;
      if (begin == tokens.size()) break;
      i = begin;
    }
  }
  return result;
}

constexpr size_t kTextWidth = 100;  // columns

std::string coloured(const std::vector<Stretch>& parts, bool is_coloured) {
  std::string line;
  for (const Stretch& part : parts) {
    line += part.is_common && is_coloured ? "\x1b[1;32m" + part.text + "\x1b[0m" : part.text;
  }
  return line;
}

/// A passage and its continuation below its title.
std::string neighbour_text(const ChunkView& chunk, size_t rank, const Tokenizer& tokenizer,
                           bool is_coloured) {
  const FetchedNeighbour& neighbour = chunk.neighbours[rank];
  const size_t m = neighbour.value_R.size() / 2;
  const std::span<const int32_t> value(neighbour.value_R), runs(chunk.neighbour_runs[rank]);
  const auto part = [&](size_t begin) {
    return coloured(stretches(tokenizer, value.subspan(begin, m), runs.subspan(begin, m)),
                    is_coloured);
  };
  const std::string next = part(m);
  return fmt::format("    {}. {} / {}, squared distance {:.3f}\n", rank + 1, neighbour.source,
                     neighbour.title, neighbour.distance) +
         wrap_text(part(0), kTextWidth, "       ") +
         wrap_text(next.empty() ? "-> (end of document)" : "-> " + next, kTextWidth, "       ");
}

nlohmann::json stretches_json(const std::vector<Stretch>& parts) {
  auto list = nlohmann::json::array();
  for (const Stretch& part : parts)
    list.push_back({{"text", part.text}, {"common", part.is_common}});
  return list;
}

nlohmann::json neighbour_json(const ChunkView& chunk, size_t rank, const Tokenizer& tokenizer) {
  const FetchedNeighbour& neighbour = chunk.neighbours[rank];
  const size_t m = neighbour.value_R.size() / 2;
  const std::span<const int32_t> value(neighbour.value_R);
  const std::span<const int32_t> runs(chunk.neighbour_runs[rank]);
  return {{"source", neighbour.source},
          {"document", neighbour.document},
          {"title", neighbour.title},
          {"distance", neighbour.distance},
          {"text", stretches_json(stretches(tokenizer, value.first(m), runs.first(m)))},
          {"continuation", stretches_json(stretches(tokenizer, value.last(m), runs.last(m)))}};
}

std::string nothing_to_read(int64_t chunk) {
  return chunk == 0 ? "    (nothing to read: no chunk before it to search with)\n"
                    : "    (nothing to read: the chunk before it has no neighbour)\n";
}

}  // namespace

std::string format_chunk(const ChunkView& chunk, const Tokenizer& tokenizer, bool is_coloured) {
  std::string text = fmt::format("  chunk {}\n", chunk.chunk + 1);
  text += wrap_text(coloured(stretches(tokenizer, chunk.tokens, chunk.token_runs), is_coloured),
                    kTextWidth, "    ");
  if (chunk.neighbours.empty()) text += nothing_to_read(chunk.chunk);
  for (size_t rank = 0; rank < chunk.neighbours.size(); ++rank)
    text += neighbour_text(chunk, rank, tokenizer, is_coloured);
  return text + "\n";
}

std::string generation_json(const SampleConfig& sample, const Generation& generation,
                            const Tokenizer& tokenizer) {
  auto chunks = nlohmann::json::array();
  for (const ChunkView& chunk : generation.chunks) {
    auto neighbours = nlohmann::json::array();
    for (size_t rank = 0; rank < chunk.neighbours.size(); ++rank)
      neighbours.push_back(neighbour_json(chunk, rank, tokenizer));
    chunks.push_back(
        {{"chunk", chunk.chunk},
         {"num_prompt_tokens", chunk.num_prompt_tokens},
         {"text", stretches_json(stretches(tokenizer, chunk.tokens, chunk.token_runs))},
         {"neighbours", neighbours}});
  }
  const nlohmann::json result = {{"prompt", sample.prompt},
                                 {"text", generation.text},
                                 {"num_tokens", generation.tokens.size()},
                                 {"reached_end_of_document", generation.reached_end_of_document},
                                 {"seconds", generation.seconds},
                                 {"retrieval", sample.retrieval},
                                 {"neighbours", sample.neighbours},
                                 {"temperature", sample.temperature},
                                 {"top_k", sample.top_k},
                                 {"top_p", sample.top_p},
                                 {"seed", sample.seed},
                                 {"chunks", chunks}};
  return result.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int execute_sample_stage(const RunConfig& config) {
  at::set_num_threads(run_threads(config));
  check_sample_config(config.sample);
  RunSampler sampler(config);
  const Generation generation = sampler.sample(config.sample);
  fmt::print("{}{}\n\n", config.sample.prompt, generation.text);
  for (const ChunkView& chunk : generation.chunks)
    fmt::print("{}", format_chunk(chunk, sampler.tokenizer(), false));
  write_file(RunPaths(config).sample(),
             generation_json(config.sample, generation, sampler.tokenizer()));
  return 0;
}

}  // namespace retro
