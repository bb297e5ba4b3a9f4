#include "retro/eval/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "retro/core/error.h"
#include "retro/core/random.h"
#include "retro/eval/bits_per_byte.h"

namespace retro {

namespace {

/// A document's contribution: only the difference and the bytes matter.
struct Difference {
  double nats = 0;
  int64_t bytes = 0;
};

double resampled_difference(std::span<const Difference> documents, RandomStream random) {
  double nats = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    const Difference& drawn = documents[random.below(documents.size())];
    nats += drawn.nats;
    bytes += drawn.bytes;
  }
  return bits_per_byte(nats, bytes);
}

/// Linear interpolation between the order statistics of ascending `values`.
double quantile(std::span<const double> values, double probability) {
  const double place = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace

Interval paired_bootstrap(std::span<const PairedLoss> documents, const BootstrapOptions& options) {
  RETRO_CHECK(options.resamples >= 2, "eval.bootstrap_resamples is {}: it must be at least 2",
              options.resamples);
  RETRO_CHECK(options.confidence > 0 && options.confidence < 1,
              "the confidence of an interval is {}: it must lie between 0 and 1",
              options.confidence);
  std::vector<Difference> differences;
  Difference sum;
  for (const PairedLoss& document : documents) {
    const bool has_nats = document.reference_nats != 0 || document.system_nats != 0;
    if (document.bytes == 0 && !has_nats) continue;
    differences.push_back({document.reference_nats - document.system_nats, document.bytes});
    sum.nats += differences.back().nats;
    sum.bytes += document.bytes;
  }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (sum.bytes == 0) return {kNan, kNan, kNan};
  std::vector<double> estimates(static_cast<size_t>(options.resamples));
  for (size_t i = 0; i < estimates.size(); ++i) {
    estimates[i] = resampled_difference(differences, RandomStream(options.seed, "bootstrap", i));
  }
  // Draws of documents without a byte (nothing but ends of documents) have no bits per byte.
  std::erase_if(estimates, [](double estimate) { return std::isnan(estimate); });
  if (estimates.empty()) return {bits_per_byte(sum.nats, sum.bytes), kNan, kNan};
  std::sort(estimates.begin(), estimates.end());
  const double tail = (1.0 - options.confidence) / 2;
  return {bits_per_byte(sum.nats, sum.bytes), quantile(estimates, tail),
          quantile(estimates, 1.0 - tail)};
}

}  // namespace retro
