// `retro score`: what retrieval changes in a text of one's own.
#pragma once

#include <string>
#include <vector>

#include "retro/eval/examples.h"
#include "retro/eval/last_word.h"
#include "retro/generate/scorer.h"
#include "retro/report/text_page.h"

namespace retro {

/// Nats and bits per byte of a text, retrieval off and on (NaN where nothing is retrieved), and the
/// source bytes of its tokens.
struct TextScore {
  ScoredText scored;
  std::vector<uint16_t> bytes;
  double nats_off = 0, nats_on = 0;
  double bits_per_byte_off = 0, bits_per_byte_on = 0;
};

/// Throws Error for an empty text.
TextScore score_whole_text(RetroModel& model, const GeneratorOptions& options,
                           const std::string& text);

/// {"tokens": [{"text", "nats_off", "nats_on"}], "chunks": [...], sums}; docs/formats.md.
std::string score_json(const TextScore& score, const Tokenizer& tokenizer);
/// A line a chunk with its bits per byte and nearest neighbour; with `has_tokens` a line a token.
std::string format_score(const TextScore& score, const Tokenizer& tokenizer, bool has_tokens);

/// The text's chunks for the report's reader, as a document called `title`; no overlap.
std::vector<ExampleChunk> score_examples(const TextScore& score, const Tokenizer& tokenizer,
                                         const std::string& title);

/// The page of a text called `title` that the run `model` scored.
TextPage score_page(const TextScore& score, const Tokenizer& tokenizer, const std::string& title,
                    const std::string& model);

/// The passages of a JSONL file: member `text` of each line. Throws Error naming the line.
std::vector<std::string> read_passages(const std::string& path);
/// The last word of each, with a progress line.
std::vector<LastWord> score_last_words(RetroModel& model, const GeneratorOptions& options,
                                       const std::vector<std::string>& passages);
std::string last_words_json(const std::vector<LastWord>& words);
/// Accuracy and perplexity for a terminal; "-" where nothing is retrieved.
std::string format_last_words(const std::vector<LastWord>& words);

}  // namespace retro
