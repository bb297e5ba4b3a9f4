#include <algorithm>
#include <cmath>
#include <set>

#include "retro/core/progress.h"
#include "retro/eval/eval_result.h"
#include "retro/eval/loss_file.h"

namespace retro {

namespace {

constexpr int kLabelWidth = 24;
constexpr int kCellWidth = 9;
constexpr int kGainWidth = 18;
constexpr size_t kTextWidth = 100;

/// "+0.0311 ±0.0040*"; the star says that the interval excludes 0, over documents enough.
std::string gain_text(const Interval& gain, int64_t documents) {
  if (std::isnan(gain.estimate)) return "-";
  const bool is_clear =
      (gain.is_above_zero() || gain.is_below_zero()) && documents >= kFewestDocuments;
  return fmt::format("{:+.4f} ±{:.4f}{}", gain.estimate, gain.half_width(), is_clear ? "*" : " ");
}

std::string label_line(const std::string& label) {
  return fmt::format("  {:<{}}", label, kLabelWidth - 2);
}

std::string number_cell(const std::string& text) { return fmt::format("{:>{}}", text, kCellWidth); }

std::string figure(double value, bool is_too_few, bool has_sign = false) {
  if (is_too_few) return "too few";
  if (std::isnan(value)) return "-";
  return has_sign ? fmt::format("{:+.4f}", value) : fmt::format("{:.4f}", value);
}

/// What a person calls a column: "on.k2.s0" -> "retrieval on, k = 2".
std::string column_label(const std::string& column) {
  const ColumnKey key = parse_column(column);
  if (key.kind == "baseline") return "baseline";
  if (key.kind == "baseline_wide") return "baseline, as large";
  if (key.kind == "baseline_database") return "baseline + database";
  if (key.kind == "off") return "retrieval off";
  if (key.kind == "on") return fmt::format("retrieval on, k = {}", key.k);
  if (key.kind == "random") return "random neighbours";
  if (key.kind == "leaked") return "leaked neighbours";
  if (key.kind == "counterpart_removed") return "counterpart removed";
  return column;
}

const SystemFigure* find_figure(const FilteredRow& row, const std::string& column) {
  for (const SystemFigure& system : row.systems) {
    if (system.column == column) return &system;
  }
  return nullptr;
}

/// The row over all chunks, alpha = 1.
const FilteredRow* whole_row(const GroupResult& group) {
  return group.filtered.empty() ? nullptr : &group.filtered.back();
}

std::string wrap(const std::string& text, size_t indent) {
  std::string out;
  size_t column = 0;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column == 0 || column + 1 + word.size() > kTextWidth) {
      out += column == 0 ? "" : "\n";
      out += std::string(indent, ' ') + word;
      column = indent + word.size();
    } else {
      out += " " + word;
      column += 1 + word.size();
    }
    begin = end + 1;
  }
  return out + "\n";
}

/// Systems of the table: everything that was run unshifted.
std::vector<std::string> table_columns(const EvalResult& result) {
  std::vector<std::string> columns;
  for (const std::string& column : result.columns) {
    if (parse_column(column).shift == 0) columns.push_back(column);
  }
  return columns;
}

std::string system_line(const EvalResult& result, const GroupResult& group,
                        const std::string& column) {
  std::string line = label_line(column_label(column));
  const FilteredRow* whole = whole_row(group);
  const SystemFigure* all = whole == nullptr ? nullptr : find_figure(*whole, column);
  const bool has_gain = all != nullptr && column != result.reference;
  line += fmt::format("{:<{}}", has_gain ? gain_text(all->gain, whole->documents) : "", kGainWidth);
  for (const FilteredRow& row : group.filtered) {
    const SystemFigure* cell = find_figure(row, column);
    line += number_cell(figure(cell == nullptr ? NAN : cell->bits_per_byte, row.is_too_few));
  }
  return line + "\n";
}

std::string filtered_table(const EvalResult& result, const GroupResult& group) {
  const std::string reference = column_label(result.reference);
  std::string text =
      fmt::format("{:<{}}{:<{}}", "  bits per byte", kLabelWidth, "gain, all chunks", kGainWidth);
  for (const FilteredRow& row : group.filtered)
    text += number_cell(fmt::format("r<={:g}", row.alpha));
  text += "\n" + label_line("chunks") + std::string(kGainWidth, ' ');
  for (const FilteredRow& row : group.filtered) text += number_cell(format_count(row.chunks));
  text += "\n";
  for (const std::string& column : table_columns(result))
    text += system_line(result, group, column);
  std::string gains = label_line(reference + " - on") + std::string(kGainWidth, ' ');
  std::string widths = label_line("  ± (95 %)") + std::string(kGainWidth, ' ');
  for (const FilteredRow& row : group.filtered) {
    const SystemFigure* on = find_figure(row, result.headline);
    gains += number_cell(figure(on == nullptr ? NAN : on->gain.estimate, row.is_too_few, true));
    widths += number_cell(figure(on == nullptr ? NAN : on->gain.half_width(), on == nullptr));
  }
  return text + gains + "\n" + widths + "\n";
}

std::string shift_line(const GroupResult& group, double alpha, const std::string& label) {
  std::string gains = label_line(label);
  std::string widths = label_line("  ± (95 %)");
  for (const ShiftRow& row : group.shifts) {
    if (row.alpha != alpha) continue;
    gains += number_cell(figure(row.gain.estimate, row.is_too_few, true));
    widths += number_cell(figure(row.gain.half_width(), row.is_too_few));
  }
  return gains + "\n" + widths + "\n";
}

std::string shift_table(const EvalResult& result, const GroupResult& group) {
  if (group.shifts.empty()) return "";
  std::string text = label_line("borders moved by");
  std::set<double> alphas;
  for (const ShiftRow& row : group.shifts) {
    alphas.insert(row.alpha);
    if (row.alpha == group.shifts.front().alpha) text += number_cell(fmt::format("{}", row.shift));
  }
  text += "  tokens\n";
  const std::string reference = column_label(result.reference);
  for (const double alpha : alphas) {
    text += shift_line(group, alpha,
                       alpha == 1.0 ? reference + " - on, all"
                                    : fmt::format("{} - on, r<={:g}", reference, alpha));
  }
  return text;
}

std::string group_text(const EvalResult& result, const GroupResult& group) {
  const RetrievalFacts& facts = group.retrieval;
  std::string text =
      fmt::format("{}: {} documents, {} chunks, {}\n", group.name(), format_count(group.documents),
                  format_count(group.chunks), format_bytes(static_cast<uint64_t>(group.bytes)));
  text += fmt::format(
      "  {} queries, {:.1f} % with a neighbour, mean squared distance {:.3f}, mean overlap r(C) "
      "{:.3f}\n",
      format_count(facts.queries), 100 * facts.share_with_neighbour, facts.mean_distance,
      facts.mean_overlap);
  text += filtered_table(result, group) + shift_table(result, group);
  return text + wrap(group.verdict.sentence, 2) + "\n";
}

/// One line a source: the figures over all chunks.
std::string overview(const EvalResult& result) {
  std::vector<std::string> columns;
  for (const std::string& column : table_columns(result)) {
    const ColumnKey key = parse_column(column);
    if (key.kind != "on" || column == result.headline) columns.push_back(column);
  }
  std::string text = fmt::format("{:<{}}", "all chunks", kLabelWidth);
  for (const std::string& column : columns) {
    const std::string kind = parse_column(column).kind;
    text += number_cell(kind == "counterpart_removed" ? "removed" : kind);
  }
  text += fmt::format("  {} - on\n", column_label(result.reference));
  for (const GroupResult& group : result.groups) {
    const FilteredRow* whole = whole_row(group);
    if (whole == nullptr) continue;
    text += fmt::format("{:<{}.{}}", group.name(), kLabelWidth, kLabelWidth - 1);
    for (const std::string& column : columns) {
      const SystemFigure* cell = find_figure(*whole, column);
      text += number_cell(figure(cell == nullptr ? NAN : cell->bits_per_byte, whole->is_too_few));
    }
    const SystemFigure* on = find_figure(*whole, result.headline);
    text += "  " +
            (on == nullptr ? std::string("too few") : gain_text(on->gain, whole->documents)) + "\n";
  }
  return text;
}

}  // namespace

std::string format_result(const EvalResult& result) {
  const std::string reference = column_label(result.reference);
  std::string text =
      fmt::format("Evaluation on the {} split. Bits per byte: lower is better.\n", result.split);
  text +=
      wrap(fmt::format(
               "gain = {} - system, ± half of a 95 % interval over documents (paired bootstrap, {} "
               "resamples), * where the interval excludes 0 over at least {} documents. r = "
               "longest run of tokens a chunk has in "
               "common with its {} nearest neighbours, as a share of the chunk.",
               reference, format_count(result.bootstrap_resamples), kFewestDocuments,
               result.overlap_neighbours),
           0);
  text += "\n" + overview(result) + "\n";
  for (const GroupResult& group : result.groups) text += group_text(result, group);
  for (const std::string& note : result.notes) text += wrap("note: " + note, 0);
  return text;
}

}  // namespace retro
