#include "retro/eval/last_word.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "retro/core/error.h"

namespace retro {

namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

std::string_view without_white_space_at_end(std::string_view text) {
  const size_t last = text.find_last_not_of(kWhiteSpace);
  return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

}  // namespace

size_t first_token_of_last_word(std::string_view text, std::span<const uint16_t> bytes) {
  const size_t space = text.find_last_of(kWhiteSpace);
  const size_t begin = space == std::string_view::npos ? 0 : space + 1;
  size_t end_of_token = 0;
  for (size_t token = 0; token < bytes.size(); ++token) {
    end_of_token += bytes[token];
    if (end_of_token > begin) return token;
  }
  throw Error(fmt::format("a passage without a last word: \"{:.40}\"", text));
}

LastWord score_last_word(RetroModel& model, const GeneratorOptions& options,
                         const std::string& passage) {
  const std::string text(without_white_space_at_end(passage));
  RETRO_CHECK(!text.empty(), "a passage without a word cannot be scored");
  RETRO_CHECK(options.tokenizer != nullptr, "last words: a tokenizer is needed");
  const EncodedText encoded = options.tokenizer->encode(text);
  const size_t first = first_token_of_last_word(text, encoded.bytes);
  const ScoredText scored = score_text(model, options, encoded.ids);
  LastWord word;
  word.word = text.substr(text.find_last_of(kWhiteSpace) + 1);
  const auto sum = [first](const std::vector<double>& nats) {
    return std::accumulate(nats.begin() + static_cast<std::ptrdiff_t>(first), nats.end(), 0.0);
  };
  const auto is_right = [first](const std::vector<uint8_t>& is_first_choice) {
    return std::find(is_first_choice.begin() + static_cast<std::ptrdiff_t>(first),
                     is_first_choice.end(), 0) == is_first_choice.end();
  };
  word.nats_off = sum(scored.nats_off);
  word.is_right_off = is_right(scored.is_first_choice_off);
  if (scored.nats_on.empty()) return word;
  word.nats_on = sum(scored.nats_on);
  word.is_right_on = is_right(scored.is_first_choice_on);
  return word;
}

LastWordSummary summarise_last_words(std::span<const LastWord> words) {
  LastWordSummary summary;
  summary.passages = static_cast<int64_t>(words.size());
  double nats_off = 0;
  double nats_on = 0;
  for (const LastWord& word : words) {
    summary.accuracy_off += word.is_right_off;
    nats_off += word.nats_off;
    summary.accuracy_on += !word.is_right_on ? NAN : *word.is_right_on ? 1.0 : 0.0;
    nats_on += word.nats_on.value_or(NAN);
  }
  const auto count = static_cast<double>(words.size());
  summary.accuracy_off /= count;
  summary.accuracy_on /= count;
  summary.perplexity_off = std::exp(nats_off / count);
  summary.perplexity_on = std::exp(nats_on / count);
  return summary;
}

}  // namespace retro
