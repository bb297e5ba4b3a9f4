#include "retro/eval/knn_lm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "retro/core/error.h"
#include "retro/core/parallel.h"

namespace retro {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// ln(exp(a) + exp(b)).
double log_add(double a, double b) {
  const double larger = std::max(a, b);
  if (larger == kMinusInfinity) return larger;
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

constexpr std::array<double, 19> kLambdas = {0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1,
                                             0.15,  0.2,  0.25, 0.3,  0.35, 0.4,   0.45,
                                             0.5,   0.6,  0.7,  0.8,  0.9};
constexpr std::array<double, 11> kScales = {0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32};

std::span<const float> distances_of(const KnnTokens& tokens, KnnDistances kind, size_t token) {
  const auto& all = kind == KnnDistances::kExact ? tokens.exact_TK : tokens.approximate_TK;
  const auto k = static_cast<size_t>(tokens.neighbours);
  return std::span(all).subspan(token * k, k);
}

std::span<const uint8_t> targets_of(const KnnTokens& tokens, KnnDistances kind, size_t token) {
  const auto& all =
      kind == KnnDistances::kExact ? tokens.exact_is_target_TK : tokens.approximate_is_target_TK;
  const auto k = static_cast<size_t>(tokens.neighbours);
  return std::span(all).subspan(token * k, k);
}

double mean_nearest_distance(const KnnTokens& tokens, KnnDistances kind) {
  double sum = 0;
  int64_t count = 0;
  for (size_t token = 0; token < tokens.size(); ++token) {
    const float nearest = distances_of(tokens, kind, token)[0];
    if (!std::isfinite(nearest)) continue;
    sum += double{nearest};
    ++count;
  }
  return count == 0 || sum <= 0 ? 1.0 : sum / static_cast<double>(count);
}

std::vector<double> log_probabilities(const KnnTokens& tokens, KnnDistances kind, double scale) {
  std::vector<double> result(tokens.size());
  for (size_t token = 0; token < tokens.size(); ++token) {
    result[token] = knn_log_probability(distances_of(tokens, kind, token),
                                        targets_of(tokens, kind, token), scale);
  }
  return result;
}

/// A setting with its sum of nats.
struct Candidate {
  KnnSetting setting;
  double nats = 0;
};

Candidate best_lambda(const KnnTokens& tokens, KnnDistances kind, double scale) {
  const std::vector<double> knn = log_probabilities(tokens, kind, scale);
  Candidate best{{0, scale}, std::numeric_limits<double>::infinity()};
  for (const double lambda : kLambdas) {
    double nats = 0;
    for (size_t token = 0; token < tokens.size(); ++token)
      nats += interpolated_nats(tokens.nats[token], knn[token], lambda);
    if (nats < best.nats) best = {{lambda, scale}, nats};
  }
  return best;
}

}  // namespace

void KnnConfig::visit_fields(FieldVisitor& visit) {
  visit("enabled", enabled, "also evaluate kNN-LM, alone and on top of RETRO");
  visit("neighbours", neighbours, "stored states that a token's distribution is made of");
  visit("rerank_factor", rerank_factor,
        "candidates by rounded distances for each neighbour kept by exact ones");
  visit("num_probes", num_probes, "lists of the datastore's index looked at for a token");
  visit("max_tokens", max_tokens, "most tokens of database text in the datastore; 0: all");
  visit("batch_size", batch_size, "windows at once");
}

void check_knn_config(const KnnConfig& config) {
  const auto at_least_1 = [](const char* key, int64_t value) {
    RETRO_CHECK(value >= 1, "knn.{} is {}: it must be at least 1", key, value);
  };
  at_least_1("neighbours", config.neighbours);
  at_least_1("rerank_factor", config.rerank_factor);
  at_least_1("num_probes", config.num_probes);
  at_least_1("batch_size", config.batch_size);
  RETRO_CHECK(config.max_tokens >= 0, "knn.max_tokens is {}: it must be at least 0 (all)",
              config.max_tokens);
}

double knn_log_probability(std::span<const float> distances, std::span<const uint8_t> is_target,
                           double scale) {
  // Counted from the nearest, so that the largest term is 1.
  double nearest = std::numeric_limits<double>::infinity();
  for (const float distance : distances) nearest = std::min(nearest, double{distance});
  if (!std::isfinite(nearest)) return kMinusInfinity;
  double all = 0;
  double target = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    if (!std::isfinite(distances[i])) continue;
    const double weight = std::exp(-scale * (double{distances[i]} - nearest));
    all += weight;
    if (is_target[i] != 0) target += weight;
  }
  return std::log(target / all);
}

double interpolated_nats(double nats, double knn_log_probability, double lambda) {
  if (lambda == 0) return nats;
  return -log_add(std::log(lambda) + knn_log_probability, std::log1p(-lambda) - nats);
}

std::vector<double> knn_nats(const KnnTokens& tokens, KnnDistances distances,
                             const KnnSetting& setting) {
  std::vector<double> result = log_probabilities(tokens, distances, setting.scale);
  for (size_t token = 0; token < result.size(); ++token)
    result[token] = interpolated_nats(tokens.nats[token], result[token], setting.lambda);
  return result;
}

KnnSetting tune_knn(const KnnTokens& tokens, KnnDistances distances, int num_threads) {
  const double unit = 1 / mean_nearest_distance(tokens, distances);
  std::array<Candidate, kScales.size()> found;
  parallel_for(
      static_cast<int64_t>(kScales.size()), num_threads,
      [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
          found[i] = best_lambda(tokens, distances, kScales[i] * unit);
      },
      1);
  double base = 0;
  for (const double nats : tokens.nats) base += nats;
  Candidate best{{0, unit}, base};
  for (const Candidate& candidate : found) {
    if (candidate.nats < best.nats) best = candidate;
  }
  return best.setting;
}

}  // namespace retro
