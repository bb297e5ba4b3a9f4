// What a verdict looks at, taken out of the figures of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "retro/eval/verdict.h"

namespace retro {

/// Gain of the headline over the reference, and what of it random neighbours do not bring.
struct CountedGain {
  Interval gain;
  std::optional<Interval> over_random;  ///< absent: random neighbours were not read

  /// Weights that are trained on top of a base may help whatever they read.
  bool is_from_neighbours() const { return !over_random || over_random->is_above_zero(); }
  bool is_there() const { return gain.is_above_zero() && is_from_neighbours(); }
  /// What random neighbours bring of it; 0 where they bring nothing or were not read.
  double by_random() const;
};

/// Chunks of little overlap: those with r(C) <= alpha.
struct LowOverlap {
  double alpha = 0;
  int64_t chunks = 0;
  int64_t documents = 0;
  std::optional<CountedGain> counted;  ///< absent: too few chunks
};

struct Evidence {
  int64_t chunks = 0;              ///< of the group
  std::optional<CountedGain> all;  ///< over every chunk; absent: too few
  /// At the largest alpha that counts as low; absent: no such alpha was evaluated.
  std::optional<LowOverlap> low;
  /// Gain of the same model with retrieval off, over every chunk.
  std::optional<double> off;
  int64_t num_shifts = 0;         ///< shifts from 1 to the rule's largest with figures at low alpha
  int64_t shift_documents = 0;    ///< the fewest documents of those
  int64_t first_lost_shift = -1;  ///< the first shift where the gain at low alpha is gone
  /// The largest tested shift (beyond the rule's too) up to which it lasts.
  int64_t last_kept_shift = 0;
  /// The first shift, from 1 to the rule's largest, where the gain over every chunk is gone.
  int64_t first_lost_shift_of_all = -1;
  std::optional<ShiftRow> one_off;  ///< the smallest shift above 0, over every chunk

  /// Every shift from 1 to `largest_shift` was survived, and there was one.
  bool is_kept_when_shifted(int64_t largest_shift) const;
  /// Under a tenth of the chunks has little overlap, little being about the rule's alpha.
  bool is_nearly_all_verbatim(const VerdictRule& rule) const;
  /// The alpha looked at is not much below the rule's: what lies above it is no small overlap.
  bool is_low_measured(const VerdictRule& rule) const;
};

Evidence collect_evidence(const GroupResult& group, const std::string& headline,
                          const VerdictRule& rule);

}  // namespace retro
