#include "retro/eval/verdict.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "retro/core/error.h"

#include "verdict_evidence.h"

namespace retro {

namespace {

constexpr std::array<std::pair<VerdictKind, std::string_view>, 5> kNames = {
    {{VerdictKind::kRead, "read"},
     {VerdictKind::kCopied, "copied"},
     {VerdictKind::kNothing, "nothing"},
     {VerdictKind::kUndecided, "undecided"},
     {VerdictKind::kMixed, "mixed"}}};

std::string interval_text(const Interval& interval) {
  return fmt::format("95 % interval {:+.4f} to {:+.4f}", interval.low, interval.high);
}

std::string share_text(double alpha) { return fmt::format("{:.0f} %", 100 * alpha); }

bool is_mostly_random(const CountedGain& counted) {
  return counted.by_random() > counted.gain.estimate / 2;
}

/// ", 0.0015 of which random neighbours bring as well", where they bring something.
std::string brought_by_random(const CountedGain& counted) {
  const double brought = counted.by_random();
  if (brought == 0) return "";
  std::string text = fmt::format(", {:.4f} of which random neighbours bring as well", brought);
  if (!is_mostly_random(counted)) return text;
  return text + fmt::format(" and the right ones only {:.4f} ({})", counted.over_random->estimate,
                            interval_text(*counted.over_random));
}

std::string tokens_text(int64_t count) {
  return fmt::format("{} token{}", count, count == 1 ? "" : "s");
}

std::string read_sentence(const Evidence& evidence, const VerdictRule& rule) {
  const CountedGain& low = *evidence.low->counted;
  return fmt::format(
      "retrieval is read{}: where a chunk shares at most {} of its length word for word with its "
      "neighbours, the model "
      "still needs {:.4f} bits per byte less than {} ({}){}, and the gain lasts when the chunk "
      "borders are "
      "moved by up to {} tokens, so it uses what the neighbours say and not only where their words "
      "stand.",
      is_mostly_random(low) ? " a little" : "", share_text(evidence.low->alpha), low.gain.estimate,
      rule.reference, interval_text(low.gain), brought_by_random(low), evidence.last_kept_shift);
}

/// No gain is measured at little overlap, but the interval is so wide that it may be the whole one.
bool is_as_much_possible(const LowOverlap& low, const CountedGain& all) {
  return low.counted && !low.counted->gain.is_above_zero() &&
         low.counted->gain.high >= all.gain.estimate;
}

/// What chunks of little overlap say against reading; nothing where they say nothing: they gain,
/// or are too few for an interval.
std::optional<std::string> low_overlap_reason(const LowOverlap& low, const CountedGain& all) {
  if (!low.counted || low.counted->is_there() || low.documents < kFewestDocuments)
    return std::nullopt;
  if (low.counted->gain.is_above_zero()) {
    return fmt::format("over chunks that share at most {} with them random ones bring as much ({})",
                       share_text(low.alpha), interval_text(*low.counted->over_random));
  }
  if (is_as_much_possible(low, all)) return std::nullopt;
  return fmt::format("over chunks that share at most {} with them nothing is left ({:+.4f}, {})",
                     share_text(low.alpha), low.counted->gain.estimate,
                     interval_text(low.counted->gain));
}

/// Why a gain is copied; nothing where no figure says so.
std::optional<std::string> copied_reason(const Evidence& evidence, const VerdictRule& rule) {
  const auto& low = evidence.low;
  if (low && low->counted && low->counted->is_there()) {
    return fmt::format(
        "with the chunk borders moved by {} the gain on chunks that share at most {} is gone",
        tokens_text(evidence.first_lost_shift), share_text(low->alpha));
  }
  // What is gone at a much smaller overlap may still be read between the two.
  const bool is_measured = evidence.is_low_measured(rule);
  if (const auto reason = is_measured ? low_overlap_reason(*low, *evidence.all) : std::nullopt)
    return reason;
  if (evidence.is_nearly_all_verbatim(rule)) {
    return fmt::format(
        "nearly every chunk stands word for word in its neighbours (only {} of {} share {} or "
        "less)",
        low->chunks, evidence.chunks, share_text(low->alpha));
  }
  if (evidence.first_lost_shift_of_all < 0) return std::nullopt;
  return fmt::format("with the chunk borders moved by {} the gain is gone",
                     tokens_text(evidence.first_lost_shift_of_all));
}

std::string copied_sentence(const Evidence& evidence, const VerdictRule& rule,
                            const std::string& reason) {
  std::string sentence = fmt::format(
      "retrieval is copied: with neighbours the model needs {:.4f} bits per byte less than {} "
      "({}){}, "
      "but {}",
      evidence.all->gain.estimate, rule.reference, interval_text(evidence.all->gain),
      brought_by_random(*evidence.all), reason);
  if (evidence.one_off) {
    sentence += fmt::format("; over all chunks the gain is {:+.4f} when the borders move by {}",
                            evidence.one_off->gain.estimate, tokens_text(evidence.one_off->shift));
  }
  return sentence + ".";
}

std::string nothing_sentence(const Evidence& evidence, const VerdictRule& rule) {
  const CountedGain& all = *evidence.all;
  if (all.gain.is_above_zero()) {
    return fmt::format(
        "nothing to be found: with neighbours the model needs {:.4f} bits per byte less than {} "
        "({}), but random neighbours bring as much (the real ones {:+.4f} more, {}), so the gain "
        "does not come from what the neighbours say.",
        all.gain.estimate, rule.reference, interval_text(all.gain), all.over_random->estimate,
        interval_text(*all.over_random));
  }
  const char* reason = all.gain.is_below_zero() ? "worse" : "not measurably better";
  const std::string off =
      evidence.off ? fmt::format("; the same model with retrieval off: {:+.4f}", *evidence.off)
                   : "";
  return fmt::format(
      "nothing to be found: with neighbours the model is {} than {} (gain {:+.4f} bits per byte, "
      "{}{}).",
      reason, rule.reference, all.gain.estimate, interval_text(all.gain), off);
}

/// A gain over all chunks of which nothing says whether it is read or copied.
std::string unexplained_sentence(const Evidence& evidence, const VerdictRule& rule) {
  const bool is_wide = evidence.is_low_measured(rule) && evidence.low->counted &&
                       evidence.low->documents >= kFewestDocuments &&
                       is_as_much_possible(*evidence.low, *evidence.all);
  const std::string why =
      is_wide ? fmt::format(
                    "over chunks that share at most {} with them the interval is too wide "
                    "({})",
                    share_text(evidence.low->alpha), interval_text(evidence.low->counted->gain))
      : evidence.is_low_measured(rule)
          ? fmt::format("only {} chunks of {} documents share at most {} with them",
                        evidence.low->chunks, evidence.low->documents,
                        share_text(evidence.low->alpha))
          : fmt::format("no overlap near {} was evaluated (eval.alphas)",
                        share_text(rule.low_alpha));
  return fmt::format(
      "undecided: with neighbours the model needs {:.4f} bits per byte less than {} ({}){}, but "
      "{}, "
      "so that nothing tells reading from copying.",
      evidence.all->gain.estimate, rule.reference, interval_text(evidence.all->gain),
      brought_by_random(*evidence.all), why);
}

/// Why a gain at little overlap is not enough to be called read; nothing where it is enough.
std::optional<std::string> open_question(const Evidence& evidence, const VerdictRule& rule) {
  const LowOverlap& low = *evidence.low;
  const std::string gain =
      fmt::format("undecided: a gain of {:.4f} bits per byte at overlap up to {}",
                  low.counted->gain.estimate, share_text(low.alpha));
  if (evidence.num_shifts == 0)
    return gain + ", but no shift test says whether it is read or copied by position.";
  const int64_t documents = std::min(low.documents, evidence.shift_documents);
  if (documents >= rule.min_documents) return std::nullopt;
  return fmt::format("{}, but over only {} document{}, too few for a verdict (at least {}).", gain,
                     documents, documents == 1 ? "" : "s", rule.min_documents);
}

}  // namespace

Verdict verdict_of(const GroupResult& group, const std::string& headline, const VerdictRule& rule) {
  if (group.documents < rule.min_documents) {
    return {VerdictKind::kUndecided,
            fmt::format("undecided: {} documents are too few for a verdict (at least {}).",
                        group.documents, rule.min_documents)};
  }
  const Evidence evidence = collect_evidence(group, headline, rule);
  if (!evidence.all) return {VerdictKind::kUndecided, "undecided: too few chunks for a verdict."};
  if (!evidence.all->is_there()) return {VerdictKind::kNothing, nothing_sentence(evidence, rule)};
  if (evidence.low && evidence.low->counted && evidence.low->counted->is_there()) {
    if (auto open = open_question(evidence, rule)) return {VerdictKind::kUndecided, *open};
    if (evidence.is_kept_when_shifted(rule.largest_shift))
      return {VerdictKind::kRead, read_sentence(evidence, rule)};
  }
  if (const auto reason = copied_reason(evidence, rule))
    return {VerdictKind::kCopied, copied_sentence(evidence, rule, *reason)};
  return {VerdictKind::kUndecided, unexplained_sentence(evidence, rule)};
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
