#include "retro/eval/knn_result.h"

#include <cmath>

#include <fmt/core.h>

#include "retro/core/progress.h"

namespace retro {

namespace {

using nlohmann::json;

json system_json(const KnnSystem& system) {
  return {
      {"name", system.name},
      {"distances", system.distances},
      {"lambda", system.setting.lambda},
      {"scale", system.setting.scale},
      {"validation_bits_per_byte", system.validation_bits_per_byte},
      {"bits_per_byte", system.bits_per_byte},
      {"gain",
       {{"estimate", system.gain.estimate}, {"low", system.gain.low}, {"high", system.gain.high}}}};
}

std::string bits_text(double bits) { return std::isnan(bits) ? "-" : fmt::format("{:.4f}", bits); }

}  // namespace

std::string tuning_note(const KnnResult& result) {
  if (result.split == "validation")
    return "lambda and a were tuned on the very text that is scored (eval.split: validation): the "
           "figures of kNN-LM flatter it";
  if (!result.systems.empty() && std::isnan(result.systems.front().validation_bits_per_byte))
    return "there is no validation text to tune lambda and a on: nothing is mixed in";
  return "";
}

namespace {

bool is_tuned(const KnnResult& result) {
  return !result.systems.empty() && !std::isnan(result.systems.front().validation_bits_per_byte);
}

}  // namespace

json knn_json(const KnnResult& result) {
  json systems = json::array();
  for (const KnnSystem& system : result.systems) systems.push_back(system_json(system));
  return {{"format", "retro knn"},     {"version", 1},          {"split", result.split},
          {"entries", result.entries}, {"index", result.index}, {"neighbours", result.neighbours},
          {"tokens", result.tokens},   {"systems", systems}};
}

std::string format_knn(const KnnResult& result) {
  std::string text =
      fmt::format("kNN-LM with {} neighbours of {} states ({}){}\n", result.neighbours,
                  format_count(result.entries), result.index,
                  is_tuned(result) ? "; lambda and a tuned on validation" : "; nothing tuned");
  text += fmt::format("{:<22}{:<13}{:>8}{:>10}{:>12}{:>12}  gain\n", "", "distances", "lambda", "a",
                      "validation", result.split);
  for (const KnnSystem& system : result.systems) {
    text += fmt::format("{:<22}{:<13}{:>8.3f}{:>10.5f}{:>12}{:>12}  {:+.4f} ±{:.4f}\n", system.name,
                        system.distances, system.setting.lambda, system.setting.scale,
                        bits_text(system.validation_bits_per_byte), bits_text(system.bits_per_byte),
                        system.gain.estimate, system.gain.half_width());
  }
  const std::string note = tuning_note(result);
  return note.empty() ? text : text + "note: " + note + "\n";
}

}  // namespace retro
