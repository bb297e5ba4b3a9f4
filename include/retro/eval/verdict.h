// Is retrieval read, copied, or is nothing found? Decided by figures alone.
#pragma once

#include <vector>

#include "retro/eval/eval_result.h"

namespace retro {

/// Chunks that share at most this part with their neighbours have little overlap.
constexpr double kLowAlpha = 0.5;

struct VerdictRule {
  int64_t min_documents = 30;
  double low_alpha = kLowAlpha;
  int64_t largest_shift = 8;  ///< shifts 1..this must keep the gain for "read"
  std::string reference =
      "the baseline";  ///< how the sentence calls what the gains are counted from
};

/// read: the gain's interval lies above 0 over all chunks and at the largest alpha <= low_alpha,
/// unshifted and at every tested shift from 1 to largest_shift, over at least min_documents
/// documents each. copied: above
/// 0 over all chunks, but not at low alpha (over kFewestDocuments documents or more), or gone when
/// shifted, or under a tenth of the chunks has an overlap of low_alpha or less. Either only where
/// the gain over random neighbours lies above 0 too, where there is one: what random neighbours
/// bring as well is no retrieval, when shifted neither. nothing: no such gain. undecided: fewer
/// than min_documents documents, too few chunks, a low-alpha gain over too few documents or without
/// a shift test, or a gain of which no figure says whether it is read or copied.
Verdict verdict_of(const GroupResult& group, const std::string& headline, const VerdictRule& rule);

/// Of all sources together: which of them are read, which copied, in which nothing is found. Parts
/// are left out.
Verdict combined_verdict(const std::vector<GroupResult>& groups);

/// "read" | "copied" | "nothing" | "undecided" | "mixed".
std::string verdict_name(VerdictKind kind);
/// Throws Error for another name.
VerdictKind parse_verdict(const std::string& name);

}  // namespace retro
