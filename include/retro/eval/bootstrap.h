// Paired bootstrap by document (METHOD section 6).
#pragma once

#include <cstdint>
#include <span>

namespace retro {

struct Interval {
  double estimate = 0;
  double low = 0;
  double high = 0;
  bool is_above_zero() const { return low > 0; }
  bool is_below_zero() const { return high < 0; }
  double half_width() const { return (high - low) / 2; }
};

/// One document's sums under two systems.
struct PairedLoss {
  double reference_nats = 0;
  double system_nats = 0;
  int64_t bytes = 0;
};

struct BootstrapOptions {
  int64_t resamples = 2000;
  double confidence = 0.95;
  uint64_t seed = 1;
};

/// Interval of bpb(reference) - bpb(system): documents drawn with replacement, both systems on the
/// same draw, percentile interval with linear interpolation. Resample i draws from random stream i,
/// so neither threads nor the order of calls matter. The estimate is the difference of the sums,
/// documents with nats but no byte included; draws without a byte are left out of the interval. NaN
/// without a byte; zero width for a single document.
Interval paired_bootstrap(std::span<const PairedLoss> documents, const BootstrapOptions& options);

}  // namespace retro
