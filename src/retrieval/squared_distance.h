// Squared L2 between rows, the innermost loop of exact search and re-ranking.
#pragma once

#include <cstdint>
#include <span>

namespace retro {

/// distances_XC[x][c] = sum_f (queries_XQ[x][f] - keys_CQ[c][f])^2, all row-major, float32.
/// Differences are formed before squaring, so that near-duplicates keep their relative precision.
/// The sum of a pair has one order: its bits do not depend on which other queries and keys are in
/// the call.
void squared_distances(std::span<const float> queries_XQ, std::span<const float> keys_CQ,
                       int64_t width, std::span<float> distances_XC);

}  // namespace retro
