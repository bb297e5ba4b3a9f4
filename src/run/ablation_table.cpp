#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/eval/eval_result.h"
#include "retro/eval/loss_file.h"
#include "retro/run/ablations.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The column a row means: a name, "on" (the headline), or the first of its kind.
std::string column_of(const EvalResult& result, const std::string& asked) {
  if (asked == "on") return result.headline;
  for (const std::string& column : result.columns) {
    if (column == asked || column.starts_with(asked + ".")) return column;
  }
  throw Error(fmt::format("the evaluation has no column `{}`", asked));
}

/// A column of another window or database share, from breakdown.json.
double read_variant(const AblationList& list, const fs::path& path, const std::string& column) {
  const nlohmann::json breakdown = read_json_file(path);
  for (const char* part : {"windows", "database"}) {
    for (const nlohmann::json& row : json_at(breakdown, part, path.string())) {
      if (json_get<std::string>(row, "source", path.string()) != list.source) continue;
      for (const nlohmann::json& system : json_at(row, "systems", path.string())) {
        if (json_get<std::string>(system, "column", path.string()) == column)
          return json_get<double>(system, "bits_per_byte", path.string());
      }
    }
  }
  throw Error(
      fmt::format("{}: no figure of {} for source `{}`", path.string(), column, list.source));
}

bool is_variant(const std::string& column) {
  return std::count(column.begin(), column.end(), '.') > 2 && !parse_column(column).variant.empty();
}

/// Bits per byte over all chunks of the source; nothing where the run is not finished.
std::optional<double> read_figure(const AblationList& list, const AblationRow& row, int64_t seed) {
  const std::string& name = row.run.empty() ? row.name : row.run;
  const fs::path path = fs::path(list.directory) / folder_name(name) /
                        fmt::format("seed_{}", seed) / "eval" / "result.json";
  if (!fs::exists(path)) return std::nullopt;
  if (is_variant(row.column))
    return read_variant(list, path.parent_path() / "breakdown.json", row.column);
  const EvalResult result = eval_result_from_json(read_file(path), path.string());
  const std::string column = column_of(result, row.column);
  for (const GroupResult& group : result.groups) {
    if (group.source != list.source || !group.part.empty() || group.filtered.empty()) continue;
    RETRO_CHECK(!group.filtered.back().is_too_few,
                "{}: source `{}` has only {} chunks, too few for a figure (eval.min_chunks)",
                path.string(), list.source, group.chunks);
    for (const SystemFigure& system : group.filtered.back().systems) {
      if (system.column == column) return system.bits_per_byte;
    }
  }
  throw Error(
      fmt::format("{}: no figure of {} for source `{}`", path.string(), column, list.source));
}

struct MeanAndSpread {
  double mean = kNone;
  double spread = kNone;
};

/// Standard deviation with n - 1.
MeanAndSpread mean_and_spread(const std::vector<double>& values) {
  if (values.empty()) return {};
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (static_cast<double>(values.size()) - 1))};
}

std::string cell(double value, bool has_sign) {
  if (std::isnan(value)) return "-";
  return has_sign ? fmt::format("{:+.4f}", value) : fmt::format("{:.4f}", value);
}

std::string paper_cell(double value, bool has_sign) {
  if (std::isnan(value)) return "-";
  return has_sign ? fmt::format("{:+.3f}", value) : fmt::format("{:.3f}", value);
}

}  // namespace

std::vector<AblationFigure> ablation_figures(const AblationList& list) {
  std::vector<AblationFigure> figures;
  std::map<int64_t, double> first_of_seed;
  const double first_paper = list.rows.front().paper;
  for (const AblationRow& row : list.rows) {
    AblationFigure figure;
    figure.name = row.name;
    figure.paper = row.paper > 0 ? row.paper : kNone;
    figure.paper_difference = row.paper > 0 && first_paper > 0 ? row.paper - first_paper : kNone;
    std::vector<double> differences;
    for (const int64_t seed : list.seeds) {
      const auto bits = read_figure(list, row, seed);
      if (!bits) continue;
      if (&row == &list.rows.front()) first_of_seed[seed] = *bits;
      figure.bits_per_byte.push_back(*bits);
      if (first_of_seed.contains(seed)) differences.push_back(*bits - first_of_seed[seed]);
    }
    const MeanAndSpread value = mean_and_spread(figure.bits_per_byte);
    const MeanAndSpread difference = mean_and_spread(differences);
    figure.mean = value.mean;
    figure.spread = value.spread;
    figure.difference = difference.mean;
    figure.difference_spread = difference.spread;
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string format_ablations(const AblationList& list, const std::vector<AblationFigure>& figures) {
  std::string text = fmt::format(
      "{} (bits per byte of {}, mean and standard deviation over seeds; differences to the first "
      "row, by seed)\n\n| | seeds | bits per byte | difference | paper{} | difference |\n"
      "|---|---|---|---|---|---|\n",
      list.title, list.source, list.paper_unit.empty() ? "" : " (" + list.paper_unit + ")");
  for (const AblationFigure& figure : figures) {
    text += fmt::format("| {} | {} | {} ± {} | {} ± {} | {} | {} |\n", figure.name,
                        figure.bits_per_byte.size(), cell(figure.mean, false),
                        cell(figure.spread, false), cell(figure.difference, true),
                        cell(figure.difference_spread, false), paper_cell(figure.paper, false),
                        paper_cell(figure.paper_difference, true));
  }
  return text;
}

std::string ablations_json(const AblationList& list, const std::vector<AblationFigure>& figures) {
  auto rows = nlohmann::json::array();
  for (const AblationFigure& figure : figures) {
    rows.push_back({{"name", figure.name},
                    {"bits_per_byte", figure.bits_per_byte},
                    {"mean", figure.mean},
                    {"spread", figure.spread},
                    {"difference", figure.difference},
                    {"difference_spread", figure.difference_spread},
                    {"paper", figure.paper},
                    {"paper_difference", figure.paper_difference}});
  }
  const nlohmann::json value = {{"format", "retro ablations"},
                                {"version", 1},
                                {"title", list.title},
                                {"source", list.source},
                                {"seeds", list.seeds},
                                {"paper_unit", list.paper_unit},
                                {"rows", rows}};
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace retro
