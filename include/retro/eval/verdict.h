// Is retrieval read, copied, or is nothing found? Decided by figures alone.
#pragma once

#include "retro/eval/eval_result.h"

namespace retro {

struct VerdictRule {
  int64_t min_documents = 30;
  double low_alpha = 0.5;         ///< chunks that share at most this part with their neighbours
  int64_t largest_shift = 8;      ///< shifts 1..this must keep the gain for "read"
};

/// read: the gain's interval lies above 0 at the largest alpha <= low_alpha, unshifted and at every tested shift up to
/// largest_shift. copied: above 0 over all chunks, but not at low alpha, or gone when shifted. nothing: otherwise.
/// too few: fewer documents than min_documents or rows without figures. `group.verdict` is not read.
Verdict verdict_of(const GroupResult& group, const std::string& headline, const VerdictRule& rule);

/// "read" | "copied" | "nothing" | "too few".
std::string verdict_name(VerdictKind kind);

}  // namespace retro
