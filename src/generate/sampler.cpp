#include "retro/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "retro/core/error.h"

namespace retro {

namespace {

/// Largest logit; the lowest id among equals.
size_t likeliest(std::span<const float> logits_V) {
  size_t best = 0;
  for (size_t v = 0; v < logits_V.size(); ++v) {
    RETRO_CHECK(!std::isnan(logits_V[v]),
                "the logit of token {} is not a number: the model's weights are broken", v);
    if (logits_V[v] > logits_V[best]) best = v;
  }
  RETRO_CHECK(!logits_V.empty() && std::isfinite(logits_V[best]), "no token has a finite logit");
  return best;
}

void renormalise(TokenChoices& choices) {
  const double sum =
      std::accumulate(choices.probabilities.begin(), choices.probabilities.end(), 0.0);
  for (double& probability : choices.probabilities) probability /= sum;
}

/// softmax(logits / temperature) of the tokens that have a chance, by id.
TokenChoices softmax(std::span<const float> logits_V, double temperature) {
  const auto largest = static_cast<double>(logits_V[likeliest(logits_V)]);
  TokenChoices choices;
  for (size_t v = 0; v < logits_V.size(); ++v) {
    const double weight = std::exp((static_cast<double>(logits_V[v]) - largest) / temperature);
    if (weight == 0.0) continue;
    choices.ids.push_back(static_cast<int32_t>(v));
    choices.probabilities.push_back(weight);
  }
  renormalise(choices);
  return choices;
}

/// Places of the choices, likeliest first (ties by lower id), sorted only as far as they are asked
/// for.
class Ranking {
 public:
  explicit Ranking(const TokenChoices& choices) : choices_(choices), places_(choices.ids.size()) {
    std::iota(places_.begin(), places_.end(), size_t{0});
  }
  size_t size() const { return places_.size(); }
  size_t place(size_t rank) {
    if (rank >= num_sorted_) sort_more(rank);
    return places_[rank];
  }

 private:
  /// Blocks grow, so that the whole order costs about one sort.
  void sort_more(size_t rank) {
    constexpr size_t kFirstBlock = 64;
    const size_t end =
        std::min(places_.size(), std::max(rank + 1, std::max(kFirstBlock, 4 * num_sorted_)));
    const auto from = places_.begin() + static_cast<int64_t>(num_sorted_);
    const auto to = places_.begin() + static_cast<int64_t>(end);
    const auto comes_first = [this](size_t a, size_t b) {
      if (choices_.probabilities[a] != choices_.probabilities[b]) {
        return choices_.probabilities[a] > choices_.probabilities[b];
      }
      return choices_.ids[a] < choices_.ids[b];
    };
    if (to != places_.end()) std::nth_element(from, to, places_.end(), comes_first);
    std::sort(from, to, comes_first);
    num_sorted_ = end;
  }

  const TokenChoices& choices_;
  std::vector<size_t> places_;
  size_t num_sorted_ = 0;
};

/// The first `count` of the ranking; with `mass`, at most the smallest prefix whose sum is at least
/// that.
TokenChoices keep_first(const TokenChoices& choices, size_t count, double mass) {
  TokenChoices kept;
  Ranking ranking(choices);
  double sum = 0;
  for (size_t rank = 0; rank < std::min(count, ranking.size()) && sum < mass; ++rank) {
    const size_t place = ranking.place(rank);
    kept.ids.push_back(choices.ids[place]);
    kept.probabilities.push_back(choices.probabilities[place]);
    sum += choices.probabilities[place];
  }
  renormalise(kept);
  return kept;
}

}  // namespace

TokenChoices token_choices(std::span<const float> logits_V, const SampleConfig& config) {
  if (config.temperature == 0.0) return {{static_cast<int32_t>(likeliest(logits_V))}, {1.0}};
  TokenChoices choices = softmax(logits_V, config.temperature);
  constexpr double kAllMass = std::numeric_limits<double>::infinity();
  if (config.top_k > 0) choices = keep_first(choices, static_cast<size_t>(config.top_k), kAllMass);
  if (config.top_p < 1.0) choices = keep_first(choices, choices.ids.size(), config.top_p);
  return choices;
}

int32_t draw_token(const TokenChoices& choices, RandomStream& random) {
  double left = random.uniform();
  for (size_t i = 0; i + 1 < choices.ids.size(); ++i) {
    left -= choices.probabilities[i];
    if (left < 0) return choices.ids[i];
  }
  return choices.ids.back();
}

double log_sum_exp(std::span<const float> logits_V) {
  const auto largest = static_cast<double>(logits_V[likeliest(logits_V)]);
  double sum = 0;
  for (const float logit : logits_V) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

}  // namespace retro
