#include "verdict_evidence.h"

#include <algorithm>

#include "retro/eval/loss_file.h"

namespace retro {

namespace {

const SystemFigure* system_of(const FilteredRow& row, const std::string& column) {
  for (const SystemFigure& system : row.systems) {
    if (system.column == column) return &system;
  }
  return nullptr;
}

std::optional<CountedGain> counted_gain(const FilteredRow& row, const std::string& headline) {
  const SystemFigure* on = system_of(row, headline);
  if (on == nullptr) return std::nullopt;
  return CountedGain{on->gain, row.over_random};
}

void collect_rows(const GroupResult& group, const std::string& headline, const VerdictRule& rule,
                  Evidence& evidence) {
  for (const FilteredRow& row : group.filtered) {
    const auto counted = counted_gain(row, headline);
    if (row.alpha <= rule.low_alpha)
      evidence.low = LowOverlap{row.alpha, row.chunks, row.documents, counted};
    if (row.alpha != 1.0) continue;
    evidence.all = counted;
    const SystemFigure* off = system_of(row, ColumnKey{"off", 0, 0}.name());
    if (off != nullptr && headline != off->column) evidence.off = off->gain.estimate;
  }
}

void collect_low_shift(const ShiftRow& row, const VerdictRule& rule, Evidence& evidence) {
  const bool is_decisive = row.shift <= rule.largest_shift;
  if (is_decisive) {
    evidence.shift_documents = evidence.num_shifts == 0
                                   ? row.documents
                                   : std::min(evidence.shift_documents, row.documents);
    ++evidence.num_shifts;
  }
  const auto& counted = evidence.low->counted;
  const bool is_kept =
      evidence.first_lost_shift < 0 && row.gain.low > (counted ? counted->by_random() : 0.0);
  if (is_kept) evidence.last_kept_shift = row.shift;
  if (!is_kept && evidence.first_lost_shift < 0) evidence.first_lost_shift = row.shift;
}

void collect_whole_shift(const ShiftRow& row, const VerdictRule& rule, Evidence& evidence) {
  if (!evidence.one_off) evidence.one_off = row;
  if (!evidence.all || row.shift > rule.largest_shift) return;
  const bool is_lost = row.gain.low <= evidence.all->by_random();
  if (is_lost && evidence.first_lost_shift_of_all < 0) evidence.first_lost_shift_of_all = row.shift;
}

void collect_shifts(const GroupResult& group, const VerdictRule& rule, Evidence& evidence) {
  for (const ShiftRow& row : group.shifts) {
    if (row.shift == 0 || row.is_too_few) continue;
    if (row.alpha == 1.0) collect_whole_shift(row, rule, evidence);
    if (evidence.low && row.alpha == evidence.low->alpha) collect_low_shift(row, rule, evidence);
  }
}

}  // namespace

double CountedGain::by_random() const {
  return over_random ? std::max(0.0, gain.estimate - over_random->estimate) : 0.0;
}

bool Evidence::is_kept_when_shifted(int64_t largest_shift) const {
  return num_shifts > 0 && (first_lost_shift < 0 || first_lost_shift > largest_shift);
}

bool Evidence::is_low_measured(const VerdictRule& rule) const {
  constexpr double kNear = 0.8;
  return low && low->alpha >= kNear * rule.low_alpha;
}

bool Evidence::is_nearly_all_verbatim(const VerdictRule& rule) const {
  constexpr int64_t kTenth = 10;
  return is_low_measured(rule) && kTenth * low->chunks < chunks;
}

Evidence collect_evidence(const GroupResult& group, const std::string& headline,
                          const VerdictRule& rule) {
  Evidence evidence;
  evidence.chunks = group.chunks;
  collect_rows(group, headline, rule, evidence);
  collect_shifts(group, rule, evidence);
  return evidence;
}

}  // namespace retro
