#include "retro/retrieval/index_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "retro/core/error.h"
#include "retro/core/progress.h"

#include "index_memory.h"

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
/// From here on lists are found through a graph: scanning so many centroids takes longer than all
/// the rest of a search.
constexpr int64_t kFewestListsForGraph = 16'384;
/// Features of a four-bit code, and where that does not fit a budget: 48 and 24 bytes for 384.
constexpr int64_t kCodeWidth = 4;
constexpr int64_t kCoarseCodeWidth = 8;
/// Keys added at once: 50 MB of MiniLM's, and where that does not fit.
constexpr int64_t kAddBlock = 1 << 15;
constexpr int64_t kSmallestAddBlock = 1 << 10;

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

void check_config(const IndexConfig& config, int64_t num_indexed) {
  RETRO_CHECK(num_indexed > 0, "the database has no chunk with a key: there is nothing to index");
  RETRO_CHECK(config.num_lists >= 0 && config.num_probes >= 0 && config.rerank_factor >= 0 &&
                  config.recall_queries >= 0,
              "index.num_lists ({}), num_probes ({}), rerank_factor ({}) and recall_queries ({}) "
              "must not be negative",
              config.num_lists, config.num_probes, config.rerank_factor, config.recall_queries);
  RETRO_CHECK(config.code_width == 0 || config.code_width == 2 || config.code_width == 4 ||
                  config.code_width == 8,
              "index.code_width is {}, expected 2, 4 or 8 features a code, or 0 for the budget to "
              "decide",
              config.code_width);
  RETRO_CHECK(config.target_recall > 0 && config.target_recall <= 1,
              "index.target_recall is {}, expected more than 0 and at most 1",
              config.target_recall);
}

/// Nothing to measure on, and something to choose by measurement.
void require_recall_queries(const IndexConfig& config, const IndexPlan& plan) {
  const bool is_fixed =
      plan.type == "exact" ||
      (config.num_probes > 0 && (plan.type != "ivf_pq" || config.rerank_factor > 0));
  RETRO_CHECK(config.recall_queries > 0 || is_fixed,
              "index.recall_queries is 0, but an index of type {} is tuned by recall: expected at "
              "least 1, or index.num_probes{} to be set",
              plan.type, plan.type == "ivf_pq" ? " and index.rerank_factor" : "");
}

/// The plan of one type, before the budget.
class Planner {
 public:
  Planner(const IndexConfig& config, const IndexedKeys& keys, const MemoryBudget& budget)
      : config_(config), keys_(keys), budget_(budget) {}

  /// With as many lists as are wanted, or as fit. Nothing where none do.
  std::optional<IndexPlan> fit(IndexPlan plan) const {
    if (plan.type == "exact") {
      return is_within(searching_needs(plan, keys_)) ? std::optional(plan) : std::nullopt;
    }
    const int64_t wanted =
        config_.num_lists > 0 ? config_.num_lists : lists_by_size(keys_.num_indexed);
    for (int64_t lists = std::min(wanted, keys_.num_indexed); lists > 0; lists /= 2) {
      set_lists(lists, plan);
      if (fits(plan)) {
        if (lists < wanted) plan.reason += why_fewer_lists(lists);
        return plan;
      }
      if (config_.num_lists > 0) break;
    }
    return std::nullopt;
  }

  /// What the plan of this type needs at least, in its hungriest stage.
  MemoryNeeds least_needs(IndexPlan plan) const {
    if (plan.type == "exact") return searching_needs(plan, keys_);
    set_lists(config_.num_lists > 0 ? std::min(config_.num_lists, keys_.num_indexed) : 1, plan);
    MemoryNeeds training = training_needs(plan, keys_);
    const int64_t points = std::min(keys_.num_indexed, fewest_points(plan));
    training.add(fmt::format("{} training keys", format_count(points)),
                 points * training_point_bytes(plan, keys_));
    MemoryNeeds filling = filling_needs(plan, keys_);
    filling.add(fmt::format("{} keys added at once", format_count(kSmallestAddBlock)),
                kSmallestAddBlock * added_key_bytes(plan, keys_));
    return std::max({training, filling, searching_needs(plan, keys_)},
                    [](const MemoryNeeds& a, const MemoryNeeds& b) {
                      return a.total_bytes() < b.total_bytes();
                    });
  }

 private:
  static int64_t fewest_points(const IndexPlan& plan) {
    return std::max(plan.num_lists * kFewestPointsPerList, kSmallestForCodes);
  }

  bool is_within(const MemoryNeeds& needs) const {
    return !budget_.is_limited() || needs.total_bytes() <= budget_.bytes();
  }

  std::string why_fewer_lists(int64_t lists) const {
    if (lists == keys_.num_indexed) {
      return fmt::format("; num_lists cut to the {} chunks", format_count(lists));
    }
    return fmt::format("; {} lists, as database.memory_budget allows", format_count(lists));
  }

  void set_lists(int64_t num_lists, IndexPlan& plan) const {
    plan.num_lists = num_lists;
    plan.has_graph =
        config_.coarse == "hnsw" || (config_.coarse == "auto" && num_lists >= kFewestListsForGraph);
  }

  /// Takes as many training points, and as many keys at once, as are useful and fit.
  bool fits(IndexPlan& plan) const {
    const int64_t points_left = budget_.left_beside(training_needs(plan, keys_));
    const int64_t useful = std::min(
        keys_.num_indexed, std::max(plan.num_lists, kSmallestForCodes) * kMostPointsPerList);
    plan.training_points = std::min(useful, points_left / training_point_bytes(plan, keys_));
    const int64_t block_left = budget_.left_beside(filling_needs(plan, keys_));
    plan.add_block = std::min(kAddBlock, block_left / added_key_bytes(plan, keys_));
    return is_within(searching_needs(plan, keys_)) && plan.add_block >= kSmallestAddBlock &&
           plan.training_points >= std::min(keys_.num_indexed, fewest_points(plan));
  }

  const IndexConfig& config_;
  const IndexedKeys& keys_;
  const MemoryBudget& budget_;
};

/// What may be chosen, best first.
std::vector<IndexPlan> candidates_for(const IndexConfig& config, int64_t num_indexed) {
  const bool is_auto = config.type == "auto";
  RETRO_CHECK(
      is_auto || config.type == "exact" || config.type == "ivf_flat" || config.type == "ivf_pq",
      "index.type is `{}`, expected auto, exact, ivf_flat or ivf_pq", config.type);
  IndexPlan plan;
  plan.type = is_auto ? type_by_size(num_indexed) : config.type;
  plan.reason = is_auto ? reason_by_size(plan.type, num_indexed)
                        : fmt::format("{}: set by index.type", plan.type);
  if (plan.type == "ivf_pq" && num_indexed < kSmallestForCodes) {
    plan.type = "exact";
    plan.reason = fmt::format("exact: ivf_pq needs at least {} chunks to train on, there are {}",
                              kSmallestForCodes, num_indexed);
  }
  std::vector<IndexPlan> plans{plan};
  if (plan.type == "ivf_flat" && is_auto) {
    plan.type = "ivf_pq";
    plan.reason = "ivf_pq: database.memory_budget has no room for the lists of ivf_flat";
    plans.push_back(plan);
  }
  if (plan.type != "ivf_pq") return plans;
  plans.back().code_width = config.code_width > 0 ? config.code_width : kCodeWidth;
  if (config.code_width == 0) {
    plan.code_width = kCoarseCodeWidth;
    plan.reason +=
        fmt::format("; {} features a code, as database.memory_budget allows", kCoarseCodeWidth);
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace

IndexedKeys keys_of(const RetrievalDatabase& database) {
  IndexedKeys keys;
  keys.num_indexed = database.num_indexable();
  keys.num_shards = database.num_shards();
  keys.num_documents = database.num_documents();
  keys.key_width = database.key_width();
  keys.key_storage = database.key_storage();
  for (int64_t shard = 0; shard < database.num_shards(); ++shard) {
    keys.largest_shard = std::max(
        keys.largest_shard, database.shard_first_row(shard + 1) - database.shard_first_row(shard));
  }
  return keys;
}

IndexPlan plan_index(const IndexConfig& config, const IndexedKeys& keys,
                     const MemoryBudget& budget) {
  check_config(config, keys.num_indexed);
  const Planner planner(config, keys, budget);
  const std::vector<IndexPlan> candidates = candidates_for(config, keys.num_indexed);
  for (const IndexPlan& candidate : candidates) {
    const auto plan = planner.fit(candidate);
    if (!plan) continue;
    require_recall_queries(config, *plan);
    return *plan;
  }
  budget.require(fmt::format("an index of type {}", candidates.back().type),
                 planner.least_needs(candidates.back()));
  throw Error("no index could be planned for this database");
}

}  // namespace retro
