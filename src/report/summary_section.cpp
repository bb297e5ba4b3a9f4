#include <cmath>

#include <fmt/ranges.h>

#include "retro/core/progress.h"
#include "retro/report/html_text.h"

#include "page_files.h"
#include "sections.h"
#include "verdict_words.h"

namespace retro {
namespace {

std::string count_text(const Json& object, const char* key) {
  const double value = number_at(object, key);
  return std::isfinite(value) ? format_count(static_cast<int64_t>(value)) : std::string{};
}

/// "7.0 M"
std::string short_count(double value) {
  if (value >= 1e9) return fmt::format("{:.1f} billion", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} million", value / 1e6);
  return format_count(static_cast<int64_t>(value));
}

void add_fact(std::vector<std::string>& facts, const std::string& value, const std::string& text) {
  if (!value.empty())
    facts.push_back(fmt::format("<li><b>{}</b> {}</li>", escape_html(value), text));
}

std::string setting(const RunFiles& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? std::string{} : found->second;
}

std::string facts_html(const RunFiles& run) {
  std::vector<std::string> facts;
  const std::string layers = setting(run, "model.layers"), width = setting(run, "model.width");
  if (!layers.empty() && !width.empty())
    add_fact(facts, layers + " × " + width, "layers × width of the model");
  if (!run.retro_metrics.empty()) {
    const double tokens = number_at(run.retro_metrics.back(), "tokens");
    if (std::isfinite(tokens)) add_fact(facts, short_count(tokens), "tokens of training");
  }
  const Json index =
      run.index.is_object() && run.index.contains("report") ? run.index["report"] : Json{};
  add_fact(facts, count_text(index, "num_indexed"), "passages in the database");
  if (const Json* all = group_of_all(run.result)) {
    add_fact(facts, count_text(*all, "chunks"), "held-out chunks scored");
    add_fact(facts, count_text(*all, "documents"), "documents held out");
  }
  return facts.empty() ? "" : fmt::format("<ul class=facts>{}</ul>", fmt::join(facts, ""));
}

/// "4.6 % fewer bits"
std::string change_text(double reference_bits, const Gain& gain) {
  const double percent = 100 * gain.estimate / reference_bits;
  return fmt::format("{:.1f} % {} bits", std::abs(percent), percent >= 0 ? "fewer" : "more");
}

std::string card_html(const Json& result, const Json& group) {
  const Json verdict = group.value("verdict", Json::object());
  const VerdictWords words = verdict_words(text_at(verdict, "kind"));
  std::string html = fmt::format("<li class=\"card {}\"><h3>{}</h3><p class=badge>{}</p>",
                                 words.style, escape_html(group_name(group)), words.badge);
  const Json* row = whole_row(group);
  const Json* on = row == nullptr ? nullptr : find_system(*row, text_at(result, "headline"));
  const Json* reference =
      row == nullptr ? nullptr : find_system(*row, text_at(result, "reference"));
  if (on != nullptr && reference != nullptr) {
    const Gain gain = gain_at(*on);
    html += fmt::format(
        "<p class=big>{}</p><p class=small>{:.4f} → {:.4f} bits per byte<br>gain {}</p>",
        change_text(number_at(*reference, "bits_per_byte"), gain),
        number_at(*reference, "bits_per_byte"), number_at(*on, "bits_per_byte"), gain_text(gain));
  }
  html += fmt::format("<p>{}</p>", words.meaning);
  return html + fmt::format("<details><summary>In figures</summary><p>{}</p></details></li>",
                            escape_html(capitalised(text_at(verdict, "sentence"))));
}

std::string headline_html(const RunFiles& run) {
  const Json* all = group_of_all(run.result);
  const Json* row = all == nullptr ? nullptr : whole_row(*all);
  const Json* on = row == nullptr ? nullptr : find_system(*row, text_at(run.result, "headline"));
  const Json* reference =
      row == nullptr ? nullptr : find_system(*row, text_at(run.result, "reference"));
  if (on == nullptr || reference == nullptr) return {};
  const Gain gain = gain_at(*on);
  constexpr double kFewestDocuments = 10;  // as in the tables of `retro eval`
  const bool is_unclear = number_at(*row, "documents") < kFewestDocuments;
  const bool is_baseline = kind_of(text_at(run.result, "reference")) == "baseline";
  const std::string certainty = is_unclear             ? "over too few documents to tell"
                                : gain.is_above_zero() ? "a difference that chance does not explain"
                                : gain.is_below_zero() ? "worse, and not by chance"
                                                       : "a difference that chance explains";
  return fmt::format(
      "<p class=headline>With passages to read, the model needs <strong>{}</strong> than {} to "
      "write down the same held-out text: {:.4f} instead of {:.4f} bits per byte, {}. Whether that "
      "is reading, copying or neither, text by text:</p>",
      change_text(number_at(*reference, "bits_per_byte"), gain),
      is_baseline ? "a model of the same shape trained without them"
                  : "the same model without them",
      number_at(*on, "bits_per_byte"), number_at(*reference, "bits_per_byte"), certainty);
}

}  // namespace

std::string summary_html(const RunFiles& run) {
  std::string html = facts_html(run);
  if (run.result.is_null() && !run.ablations.is_null()) return html;
  if (run.result.is_null())
    return html + "<p>Nothing was evaluated yet: <code>retro eval</code> does.</p>";
  html += headline_html(run) + "<ul class=cards>";
  for (const Json& group : list_at(run.result, "groups")) {
    if (text_at(group, "part").empty() && text_at(group, "source") != "all")
      html += card_html(run.result, group);
  }
  html += "</ul>";
  std::string notes;
  for (const std::string& note : run.notes) notes += "<li>" + escape_html(note) + "</li>";
  for (const Json& note : list_at(run.result, "notes"))
    if (note.is_string()) notes += "<li>" + escape_html(note.get<std::string>()) + "</li>";
  if (!notes.empty()) html += "<ul class=notes aria-label=Notes>" + notes + "</ul>";
  return html + std::string(kPageWords);
}

}  // namespace retro
