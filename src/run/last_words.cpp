#include <cmath>
#include <sstream>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/progress.h"
#include "retro/run/scoring.h"

namespace retro {
namespace {

/// Null where there is none.
template <class T>
nlohmann::json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// "-" for NaN.
std::string figure_or_dash(double value, int decimals) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::vector<std::string> read_passages(const std::string& path) {
  std::vector<std::string> passages;
  std::istringstream lines(read_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    constexpr const char* kSpaces = " \t\n\v\f\r";
    if (line.find_first_not_of(kSpaces) == std::string::npos) continue;
    passages.push_back(json_get<std::string>(parse_json(line, where), "text", where));
    RETRO_CHECK(passages.back().find_first_not_of(kSpaces) != std::string::npos,
                "{}: `text` has no word to score", where);
  }
  RETRO_CHECK(!passages.empty(), "{}: no passage in it", path);
  return passages;
}

std::vector<LastWord> score_last_words(RetroModel& model, const GeneratorOptions& options,
                                       const std::vector<std::string>& passages) {
  Progress progress("last words", static_cast<int64_t>(passages.size()), "passages");
  std::vector<LastWord> words;
  for (const std::string& passage : passages) {
    words.push_back(score_last_word(model, options, passage));
    progress.update(static_cast<int64_t>(words.size()));
  }
  progress.finish();
  return words;
}

std::string last_words_json(const std::vector<LastWord>& words) {
  using nlohmann::json;
  const LastWordSummary summary = summarise_last_words(words);
  json list = json::array();
  for (const LastWord& word : words) {
    list.push_back({{"word", word.word},
                    {"nats_off", word.nats_off},
                    {"nats_on", value_or_null(word.nats_on)},
                    {"is_right_off", word.is_right_off},
                    {"is_right_on", value_or_null(word.is_right_on)}});
  }
  // NaN is null.
  const json value = {
      {"format", "retro last words"},           {"version", 1},
      {"passages", summary.passages},           {"accuracy_off", summary.accuracy_off},
      {"accuracy_on", summary.accuracy_on},     {"perplexity_off", summary.perplexity_off},
      {"perplexity_on", summary.perplexity_on}, {"words", list}};
  return value.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string format_last_words(const std::vector<LastWord>& words) {
  const LastWordSummary summary = summarise_last_words(words);
  return fmt::format(
      "{} passages          off       on\naccuracy        {:>8} {:>8}\nperplexity      {:>8} "
      "{:>8}",
      summary.passages, figure_or_dash(summary.accuracy_off, 4),
      figure_or_dash(summary.accuracy_on, 4), figure_or_dash(summary.perplexity_off, 2),
      figure_or_dash(summary.perplexity_on, 2));
}

}  // namespace retro
