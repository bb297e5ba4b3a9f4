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

/// Takes choices one by one, likeliest first, ties by lower id: no sort of the whole vocabulary.
class Ranking {
 public:
  explicit Ranking(const TokenChoices& choices) : choices_(choices), heap_(choices.ids.size()) {
    std::iota(heap_.begin(), heap_.end(), size_t{0});
    std::make_heap(heap_.begin(), heap_.end(), Later{choices_});
  }
  bool is_empty() const { return heap_.empty(); }
  size_t next() {
    std::pop_heap(heap_.begin(), heap_.end(), Later{choices_});
    const size_t place = heap_.back();
    heap_.pop_back();
    return place;
  }

 private:
  struct Later {
    const TokenChoices& choices;
    bool operator()(size_t a, size_t b) const {
      if (choices.probabilities[a] != choices.probabilities[b]) {
        return choices.probabilities[a] < choices.probabilities[b];
      }
      return choices.ids[a] > choices.ids[b];
    }
  };
  const TokenChoices& choices_;
  std::vector<size_t> heap_;
};

/// The likeliest `count`, in order.
TokenChoices keep_likeliest(const TokenChoices& choices, size_t count) {
  TokenChoices kept;
  Ranking ranking(choices);
  while (!ranking.is_empty() && kept.ids.size() < count) {
    const size_t place = ranking.next();
    kept.ids.push_back(choices.ids[place]);
    kept.probabilities.push_back(choices.probabilities[place]);
  }
  renormalise(kept);
  return kept;
}

/// The smallest prefix of the ranking whose sum is at least `mass`.
TokenChoices keep_mass(const TokenChoices& choices, double mass) {
  TokenChoices kept;
  Ranking ranking(choices);
  double sum = 0;
  while (!ranking.is_empty() && sum < mass) {
    const size_t place = ranking.next();
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
  if (config.top_k > 0) choices = keep_likeliest(choices, static_cast<size_t>(config.top_k));
  if (config.top_p < 1.0) choices = keep_mass(choices, config.top_p);
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
