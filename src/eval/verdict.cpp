#include "retro/eval/verdict.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "retro/core/error.h"
#include "retro/eval/loss_file.h"

namespace retro {

namespace {

constexpr std::array<std::pair<VerdictKind, std::string_view>, 5> kNames = {
    {{VerdictKind::kRead, "read"},
     {VerdictKind::kCopied, "copied"},
     {VerdictKind::kNothing, "nothing"},
     {VerdictKind::kUndecided, "undecided"},
     {VerdictKind::kMixed, "mixed"}}};

/// What the decision looks at. Absent: too few chunks, or not measured.
struct Evidence {
  std::optional<Interval> all;  ///< over every chunk
  std::optional<Interval> low;  ///< over chunks of little overlap
  /// The same two, counted from random neighbours.
  std::optional<Interval> all_over_random;
  std::optional<Interval> low_over_random;
  /// Gain of the same model with retrieval off, over every chunk.
  std::optional<double> off;
  double low_alpha = 0;
  int64_t num_shifts = 0;         ///< shifts from 1 to the rule's largest with figures at low alpha
  int64_t first_lost_shift = -1;  ///< the first of them where the gain is gone
  int64_t last_kept_shift =
      0;  ///< the largest tested shift (beyond the rule's too) up to which it lasts
  std::optional<ShiftRow> one_off;  ///< the smallest shift above 0, over every chunk
};

const SystemFigure* find_system(const FilteredRow& row, const std::string& column) {
  for (const SystemFigure& system : row.systems) {
    if (system.column == column) return &system;
  }
  return nullptr;
}

void collect_rows(const GroupResult& group, const std::string& headline, const VerdictRule& rule,
                  Evidence& evidence) {
  for (const FilteredRow& row : group.filtered) {
    const bool is_low = row.alpha <= rule.low_alpha;
    if (is_low) {
      evidence.low_alpha = row.alpha;
      evidence.low.reset();
    }
    if (const SystemFigure* on = find_system(row, headline)) {
      if (is_low) evidence.low = on->gain;
      if (is_low) evidence.low_over_random = row.over_random;
      if (row.alpha == 1.0) evidence.all = on->gain;
      if (row.alpha == 1.0) evidence.all_over_random = row.over_random;
    }
    const SystemFigure* off = find_system(row, ColumnKey{"off", 0, 0}.name());
    if (row.alpha == 1.0 && off != nullptr && headline != off->column) {
      evidence.off = off->gain.estimate;
    }
  }
}

/// What random neighbours bring of a gain; 0 where they bring nothing or were not read.
double by_random(const std::optional<Interval>& gain, const std::optional<Interval>& over_random) {
  return gain && over_random ? std::max(0.0, gain->estimate - over_random->estimate) : 0.0;
}

void collect_shifts(const GroupResult& group, const VerdictRule& rule, Evidence& evidence) {
  bool is_kept = true;
  for (const ShiftRow& row : group.shifts) {
    if (row.shift == 0 || row.is_too_few) continue;
    if (row.alpha == 1.0 && !evidence.one_off) evidence.one_off = row;
    if (row.alpha != evidence.low_alpha) continue;
    if (row.shift <= rule.largest_shift) ++evidence.num_shifts;
    is_kept = is_kept && row.gain.low > by_random(evidence.low, evidence.low_over_random);
    if (is_kept) evidence.last_kept_shift = row.shift;
    if (!is_kept && evidence.first_lost_shift < 0) evidence.first_lost_shift = row.shift;
  }
}

std::string interval_text(const Interval& interval) {
  return fmt::format("95 % interval {:+.4f} to {:+.4f}", interval.low, interval.high);
}

std::string share_text(double alpha) { return fmt::format("{:.0f} %", 100 * alpha); }

/// ", 0.0015 of which random neighbours bring as well", where they bring something.
std::string brought_by_random(const Interval& gain, const std::optional<Interval>& over_random) {
  const double brought = by_random(gain, over_random);
  if (brought == 0) return "";
  return fmt::format(", {:.4f} of which random neighbours bring as well", brought);
}

std::string read_sentence(const Evidence& evidence, const VerdictRule& rule) {
  return fmt::format(
      "retrieval is read: where a chunk shares at most {} of its length word for word with its "
      "neighbours, the model "
      "still needs {:.4f} bits per byte less than {} ({}){}, and the gain lasts when the chunk "
      "borders are "
      "moved by up to {} tokens, so it uses what the neighbours say and not only where their words "
      "stand.",
      share_text(evidence.low_alpha), evidence.low->estimate, rule.reference,
      interval_text(*evidence.low), brought_by_random(*evidence.low, evidence.low_over_random),
      evidence.last_kept_shift);
}

/// Weights that are trained on top of a base may help whatever they read.
bool is_from_neighbours(const std::optional<Interval>& over_random) {
  return !over_random || over_random->is_above_zero();
}

std::string copied_reason(const Evidence& evidence) {
  if (!evidence.low) {
    return fmt::format(
        "nearly every chunk stands word for word in its neighbours (too few share {} or less)",
        share_text(evidence.low_alpha));
  }
  if (evidence.low->is_above_zero() && !is_from_neighbours(evidence.low_over_random)) {
    return fmt::format("over chunks that share at most {} with them random ones bring as much ({})",
                       share_text(evidence.low_alpha), interval_text(*evidence.low_over_random));
  }
  if (!evidence.low->is_above_zero()) {
    return fmt::format("over chunks that share at most {} with them nothing is left ({:+.4f}, {})",
                       share_text(evidence.low_alpha), evidence.low->estimate,
                       interval_text(*evidence.low));
  }
  return fmt::format(
      "with the chunk borders moved by {} tokens the gain on chunks that share at most {} is gone",
      evidence.first_lost_shift, share_text(evidence.low_alpha));
}

std::string copied_sentence(const Evidence& evidence, const VerdictRule& rule) {
  std::string sentence = fmt::format(
      "retrieval is copied: with neighbours the model needs {:.4f} bits per byte less than {} "
      "({}){}, "
      "but {}",
      evidence.all->estimate, rule.reference, interval_text(*evidence.all),
      brought_by_random(*evidence.all, evidence.all_over_random), copied_reason(evidence));
  if (evidence.one_off) {
    sentence +=
        fmt::format("; over all chunks the gain is {:+.4f} when the borders move by {} token{}",
                    evidence.one_off->gain.estimate, evidence.one_off->shift,
                    evidence.one_off->shift == 1 ? "" : "s");
  }
  return sentence + ".";
}

std::string nothing_sentence(const Evidence& evidence, const VerdictRule& rule) {
  if (evidence.all->is_above_zero()) {
    return fmt::format(
        "nothing to be found: with neighbours the model needs {:.4f} bits per byte less than {} "
        "({}), but random neighbours bring as much (the real ones {:+.4f} more, {}), so the gain "
        "does not come from what the neighbours say.",
        evidence.all->estimate, rule.reference, interval_text(*evidence.all),
        evidence.all_over_random->estimate, interval_text(*evidence.all_over_random));
  }
  const char* reason = evidence.all->is_below_zero() ? "worse" : "not measurably better";
  const std::string off =
      evidence.off ? fmt::format("; the same model with retrieval off: {:+.4f}", *evidence.off)
                   : "";
  return fmt::format(
      "nothing to be found: with neighbours the model is {} than {} (gain {:+.4f} bits per byte, "
      "{}{}).",
      reason, rule.reference, evidence.all->estimate, interval_text(*evidence.all), off);
}

bool is_kept_when_shifted(const Evidence& evidence, const VerdictRule& rule) {
  return evidence.num_shifts > 0 &&
         (evidence.first_lost_shift < 0 || evidence.first_lost_shift > rule.largest_shift);
}

}  // namespace

Verdict verdict_of(const GroupResult& group, const std::string& headline, const VerdictRule& rule) {
  if (group.documents < rule.min_documents) {
    return {VerdictKind::kUndecided,
            fmt::format("undecided: {} documents are too few for a verdict (at least {}).",
                        group.documents, rule.min_documents)};
  }
  Evidence evidence;
  collect_rows(group, headline, rule, evidence);
  collect_shifts(group, rule, evidence);
  if (!evidence.all) return {VerdictKind::kUndecided, "undecided: too few chunks for a verdict."};
  const bool is_low_gain =
      evidence.low && evidence.low->is_above_zero() && is_from_neighbours(evidence.low_over_random);
  if (is_low_gain && evidence.num_shifts == 0) {
    return {VerdictKind::kUndecided,
            fmt::format("undecided: a gain of {:.4f} bits per byte at overlap up to {}, but no "
                        "shift test says whether it is read or copied by position.",
                        evidence.low->estimate, share_text(evidence.low_alpha))};
  }
  if (is_low_gain && is_kept_when_shifted(evidence, rule))
    return {VerdictKind::kRead, read_sentence(evidence, rule)};
  if (evidence.all->is_above_zero() && is_from_neighbours(evidence.all_over_random))
    return {VerdictKind::kCopied, copied_sentence(evidence, rule)};
  return {VerdictKind::kNothing, nothing_sentence(evidence, rule)};
}

Verdict combined_verdict(const std::vector<GroupResult>& groups) {
  constexpr std::array<std::pair<VerdictKind, std::string_view>, 4> kParts = {
      {{VerdictKind::kRead, "retrieval is read in"},
       {VerdictKind::kCopied, "copied in"},
       {VerdictKind::kNothing, "nothing is to be found in"},
       {VerdictKind::kUndecided, "undecided in"}}};
  std::vector<std::string> parts;
  for (const auto& [kind, words] : kParts) {
    std::vector<std::string> sources;
    for (const GroupResult& group : groups) {
      if (group.part.empty() && group.source != "all" && group.verdict.kind == kind)
        sources.push_back(group.source);
    }
    if (!sources.empty()) parts.push_back(fmt::format("{} {}", words, fmt::join(sources, ", ")));
  }
  return {VerdictKind::kMixed, fmt::format("by source: {}.", fmt::join(parts, "; "))};
}

std::string verdict_name(VerdictKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return std::string(name);
  }
  return "undecided";
}

VerdictKind parse_verdict(const std::string& name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  throw Error(fmt::format("`{}` is no verdict: read, copied, nothing or undecided", name));
}

}  // namespace retro
