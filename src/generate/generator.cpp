#include "retro/generate/generator.h"

#include <algorithm>
#include <chrono>

#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"
#include "retro/generate/cached_decoder.h"
#include "retro/generate/sampler.h"
#include "retro/generate/text_stream.h"

#include "beam_search.h"
#include "document_state.h"

namespace retro {

namespace {

/// A prompt's continuation on its way to the caller.
class Row {
 public:
  Row(int64_t number, int64_t num_prompt_tokens, uint64_t seed)
      : random(seed, "sample", static_cast<uint64_t>(number)),
        number_(number),
        num_prompt_tokens_(num_prompt_tokens) {}

  void add_token(int32_t token, double log_probability, const Tokenizer& tokenizer,
                 const GenerationEvents& events) {
    generation.tokens.push_back(token);
    generation.log_probabilities.push_back(log_probability);
    emit_text(token, text_stream_.push(tokenizer.decode({&token, 1})), events);
  }

  /// Emits every chunk that is complete by now; with `is_last`, the one that generation ended in as
  /// well.
  void emit_chunks(int64_t chunk_length, bool is_last, const GenerationEvents& events) {
    const auto total = static_cast<int64_t>(document.tokens.size());
    while (num_emitted_ * chunk_length < total) {
      const int64_t begin = num_emitted_ * chunk_length;
      const int64_t length = std::min(chunk_length, total - begin);
      if (length < chunk_length && !is_last) return;
      emit_chunk(begin, length, events);
    }
  }

  void finish(const GenerationEvents& events) {
    if (std::string rest = text_stream_.finish(); !rest.empty())
      emit_text(generation.tokens.back(), rest, events);
  }

  DocumentState document;
  at::Tensor logits_V;
  RandomStream random;
  Generation generation;
  bool is_done = false;

 private:
  void emit_text(int32_t token, const std::string& text, const GenerationEvents& events) {
    generation.text += text;
    if (events.on_token) events.on_token(number_, token, text);
  }

  void emit_chunk(int64_t begin, int64_t length, const GenerationEvents& events) {
    const auto read = document.neighbours.find(num_emitted_ - 1);
    ChunkView view = make_chunk_view(
        num_emitted_,
        std::span(document.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(length)),
        read == document.neighbours.end() ? std::vector<FetchedNeighbour>{} : read->second);
    view.num_prompt_tokens = std::clamp<int64_t>(num_prompt_tokens_ - begin, 0, length);
    ++num_emitted_;
    if (events.on_chunk) events.on_chunk(number_, view);
    generation.chunks.push_back(std::move(view));
  }

  int64_t number_;
  int64_t num_prompt_tokens_;
  int64_t num_emitted_ = 0;
  Utf8Stream text_stream_;
};

}  // namespace

struct Generator::Impl {
  Impl(RetroModel model, const GeneratorOptions& options_)
      : options(options_),
        chunk_length(model->config().chunk_length),
        decoder(std::move(model), options.fetcher, options.neighbours, options.window_length) {}

  /// Chooses the row's next token; the end of the document, or the last token asked for, ends it.
  void choose(Row& row, const SampleConfig& config, const GenerationEvents& events) const {
    const at::Tensor logits_V = known_logits(row.logits_V);
    const std::span<const float> logits(logits_V.const_data_ptr<float>(),
                                        static_cast<size_t>(logits_V.numel()));
    const int32_t token = draw_token(token_choices(logits, config), row.random);
    if (token == options.tokenizer->end_of_document()) {
      row.generation.reached_end_of_document = true;
      row.is_done = true;
      return;
    }
    const double log_probability =
        static_cast<double>(logits[static_cast<size_t>(token)]) - log_sum_exp(logits);
    row.add_token(token, log_probability, *options.tokenizer, events);
    row.is_done = static_cast<int64_t>(row.generation.tokens.size()) >= config.max_tokens;
    // The last token's own forward would be for nothing.
    if (row.is_done) row.document.tokens.push_back(token);
  }

  void advance(std::vector<Row*>& rows) {
    std::vector<DocumentState*> documents;
    std::vector<int32_t> tokens;
    for (Row* row : rows) {
      documents.push_back(&row->document);
      tokens.push_back(row->generation.tokens.back());
    }
    const at::Tensor logits_BV = append_tokens(decoder, documents, tokens);
    for (size_t b = 0; b < rows.size(); ++b) rows[b]->logits_V = logits_BV[static_cast<int64_t>(b)];
  }

  void sample(std::vector<Row>& rows, const SampleConfig& config, const GenerationEvents& events) {
    std::vector<Row*> active;
    for (Row& row : rows) {
      row.emit_chunks(chunk_length, false, events);
      if (config.max_tokens > 0) active.push_back(&row);
    }
    while (!active.empty()) {
      for (Row* row : active) choose(*row, config, events);
      std::erase_if(active, [](const Row* row) { return row->is_done; });
      if (!active.empty()) advance(active);
      for (Row* row : active) row->emit_chunks(chunk_length, false, events);
    }
  }

  void search(Row& row, const SampleConfig& config, const GenerationEvents& events) {
    row.emit_chunks(chunk_length, false, events);
    const int32_t end = options.tokenizer->end_of_document();
    Hypothesis best =
        beam_search(decoder, std::move(row.document), known_logits(row.logits_V), config, end);
    row.document = std::move(best.document);
    row.generation.reached_end_of_document = best.has_ended;
    for (size_t i = 0; i < best.tokens.size(); ++i) {
      row.add_token(best.tokens[i], best.log_probabilities[i], *options.tokenizer, events);
    }
  }

  /// On the CPU. Ids beyond the tokenizer's (a padded vocabulary) are never chosen.
  at::Tensor known_logits(const at::Tensor& logits_V) const {
    return logits_V.narrow(0, 0, options.tokenizer->vocabulary_size()).cpu().contiguous();
  }

  GeneratorOptions options;
  int64_t chunk_length;
  CachedDecoder decoder;
};

Generator::Generator(RetroModel model, const GeneratorOptions& options) {
  RETRO_CHECK(options.tokenizer != nullptr, "generator: a tokenizer is needed");
  RETRO_CHECK(
      model->config().vocabulary >= options.tokenizer->vocabulary_size(),
      "generator: the tokenizer has {} pieces, the model knows {}: they do not belong together",
      options.tokenizer->vocabulary_size(), model->config().vocabulary);
  impl_ = std::make_unique<Impl>(std::move(model), options);
}
Generator::~Generator() = default;

std::vector<Generation> Generator::generate(const std::vector<std::vector<int32_t>>& prompts,
                                            const SampleConfig& config,
                                            const GenerationEvents& events) {
  check_sample_config(config);
  const c10::InferenceMode inference;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Row> rows;
  rows.reserve(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    Row& row = rows.emplace_back(static_cast<int64_t>(i), static_cast<int64_t>(prompts[i].size()),
                                 static_cast<uint64_t>(config.seed));
    row.document = begin_document(impl_->decoder, prompts[i],
                                  impl_->options.tokenizer->end_of_document(), row.logits_V);
  }
  if (config.beams > 1) {
    for (Row& row : rows) impl_->search(row, config, events);
  } else {
    impl_->sample(rows, config, events);
  }
  std::vector<Generation> generations;
  for (Row& row : rows) {
    row.emit_chunks(impl_->chunk_length, true, events);
    row.finish(events);
    row.generation.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    generations.push_back(std::move(row.generation));
  }
  return generations;
}

}  // namespace retro
