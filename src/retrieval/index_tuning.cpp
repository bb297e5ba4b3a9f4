#include "index_tuning.h"

#include <algorithm>
#include <tuple>

#include "retro/core/log.h"

namespace retro {
namespace {

/// Share of the misses that the target allows which are kept for other queries.
constexpr double kReserve = 0.25;
/// More probes are not tried where this many steps of them have reached the target.
constexpr int kStepsBeyond = 2;

class Tuner {
 public:
  Tuner(const NeighbourIndex& index, const RecallSample& sample, const IndexConfig& config)
      : index_(index),
        sample_(sample),
        config_(config),
        wanted_(config.target_recall + kReserve * (1 - config.target_recall)) {}

  Tuning tune() {
    int num_reached = 0;
    for (const int64_t probes : probe_steps()) {
      num_reached += measure_factors(probes) ? 1 : 0;
      if (num_reached > kStepsBeyond) break;
    }
    std::ranges::sort(points_, {}, [](const OperatingPoint& point) {
      return std::tuple(point.num_probes, point.rerank_factor);
    });
    return {points_, choose()};
  }

 private:
  /// 1, 2, 3, 4, 6, 8, 12, ... and all lists.
  std::vector<int64_t> probe_steps() const {
    const int64_t num_lists = index_.report().num_lists;
    if (config_.num_probes > 0) return {std::min(config_.num_probes, num_lists)};
    std::vector<int64_t> steps;
    for (int64_t probes = 1; probes < num_lists; probes *= 2) {
      steps.push_back(probes);
      if (probes > 1 && probes / 2 * 3 < num_lists) steps.push_back(probes / 2 * 3);
    }
    steps.push_back(num_lists);
    return steps;
  }

  std::vector<int64_t> factor_steps() const {
    if (index_.report().type != "ivf_pq") return {1};
    if (config_.rerank_factor > 0) return {config_.rerank_factor};
    return {1, 2, 3, 5, 8, 12, 20, 40, 80, 160};
  }

  /// From the largest factor down, as long as the target is reached. Whether it ever was.
  bool measure_factors(int64_t probes) {
    std::vector<int64_t> factors = factor_steps();
    std::ranges::reverse(factors);
    bool has_reached = false;
    for (const int64_t factor : factors) {
      points_.push_back(sample_.measure(index_, probes, factor));
      if (points_.back().recall_at_10 < wanted_) break;
      has_reached = true;
    }
    return has_reached;
  }

  size_t choose() const {
    size_t chosen = points_.size();
    for (size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].recall_at_10 < wanted_) continue;
      if (chosen == points_.size() ||
          points_[i].seconds_per_query < points_[chosen].seconds_per_query) {
        chosen = i;
      }
    }
    if (chosen < points_.size()) return chosen;
    const auto best = std::ranges::max_element(points_, {}, &OperatingPoint::recall_at_10);
    if (best->recall_at_10 < config_.target_recall) {
      log_warning("index: recall@10 is {:.3f}, below the target of {:.3f}; {}", best->recall_at_10,
                  config_.target_recall, advice());
    }
    return static_cast<size_t>(best - points_.begin());
  }

  std::string advice() const {
    if (config_.num_probes > 0) return "raise index.num_probes";
    return config_.rerank_factor > 0 ? "raise index.rerank_factor" : "lower index.code_width";
  }

  const NeighbourIndex& index_;
  const RecallSample& sample_;
  const IndexConfig& config_;
  double wanted_;
  std::vector<OperatingPoint> points_;
};

}  // namespace

Tuning tune_index(const NeighbourIndex& index, const RecallSample& sample,
                  const IndexConfig& config) {
  return Tuner(index, sample, config).tune();
}

}  // namespace retro
