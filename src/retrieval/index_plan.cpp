#include "index_plan.h"

#include <algorithm>
#include <cmath>

#include "retro/core/error.h"
#include "retro/core/progress.h"

namespace retro {
namespace {

/// Largest sizes of each type, by the benchmark in docs/reproducing: below them the simpler type is
/// as fast.
constexpr int64_t kLargestExact = 65'536;
constexpr int64_t kLargestFlat = 262'144;
/// Four-bit codes have 16 centroids.
constexpr int64_t kSmallestForCodes = 16;
/// Fewer points a list give poor centroids; more than the largest change nothing (FAISS's own
/// bounds).
constexpr int64_t kFewestPointsPerList = 39;
constexpr int64_t kMostPointsPerList = 256;

std::string type_by_size(int64_t num_indexed) {
  if (num_indexed <= kLargestExact) return "exact";
  return num_indexed <= kLargestFlat ? "ivf_flat" : "ivf_pq";
}

std::string reason_by_size(const std::string& type, int64_t num_indexed) {
  const std::string chunks = format_count(num_indexed);
  if (type == "exact") {
    return fmt::format("exact: {} chunks are at most {}", chunks, format_count(kLargestExact));
  }
  if (type == "ivf_flat") {
    return fmt::format("ivf_flat: {} chunks are more than {}, at most {}", chunks,
                       format_count(kLargestExact), format_count(kLargestFlat));
  }
  return fmt::format("ivf_pq: {} chunks are more than {}", chunks, format_count(kLargestFlat));
}

int64_t lists_by_size(int64_t num_indexed) {
  const auto wanted = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(num_indexed)));
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, num_indexed / kFewestPointsPerList));
}

}  // namespace

IndexPlan plan_index(const IndexConfig& config, int64_t num_indexed) {
  RETRO_CHECK(num_indexed > 0, "the database has no chunk with a key: there is nothing to index");
  RETRO_CHECK(config.num_lists >= 0 && config.num_probes >= 0 && config.rerank_factor >= 1 &&
                  config.recall_queries >= 0,
              "index.num_lists ({}), num_probes ({}) and recall_queries ({}) must not be negative, "
              "rerank_factor ({}) at least 1",
              config.num_lists, config.num_probes, config.recall_queries, config.rerank_factor);
  IndexPlan plan;
  if (config.type == "auto") {
    plan.type = type_by_size(num_indexed);
    plan.reason = reason_by_size(plan.type, num_indexed);
  } else {
    RETRO_CHECK(config.type == "exact" || config.type == "ivf_flat" || config.type == "ivf_pq",
                "index.type is `{}`, expected auto, exact, ivf_flat or ivf_pq", config.type);
    plan.type = config.type;
    plan.reason = fmt::format("{}: set by index.type", plan.type);
  }
  if (plan.type == "ivf_pq" && num_indexed < kSmallestForCodes) {
    plan.type = "exact";
    plan.reason = fmt::format("exact: ivf_pq needs at least {} chunks to train on, there are {}",
                              kSmallestForCodes, num_indexed);
  }
  if (plan.type == "exact") return plan;
  plan.num_lists = config.num_lists > 0 ? config.num_lists : lists_by_size(num_indexed);
  if (plan.num_lists > num_indexed) {
    plan.num_lists = num_indexed;
    plan.reason += fmt::format("; num_lists cut to the {} chunks", format_count(num_indexed));
  }
  plan.training_points =
      std::min(num_indexed, std::max(plan.num_lists, kSmallestForCodes) * kMostPointsPerList);
  return plan;
}

std::string index_type_for(const IndexConfig& config, int64_t num_chunks) {
  return plan_index(config, num_chunks).type;
}

}  // namespace retro
