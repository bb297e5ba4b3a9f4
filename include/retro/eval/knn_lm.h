// kNN-LM: the model's distribution mixed with that of the nearest stored states (Khandelwal et al.,
// arXiv 1911.00172; METHOD section 6).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "retro/core/config.h"

namespace retro {

/// The `knn` section of a configuration.
struct KnnConfig {
  bool enabled = false;
  int64_t neighbours = 64;         ///< K, of which p_kNN is made
  int64_t rerank_factor = 4;       ///< candidates by rounded distances for each that is kept
  int64_t num_probes = 32;         ///< lists of the datastore's index looked at
  int64_t max_tokens = 1'000'000;  ///< at most, of the database's text; 0: all
  int64_t batch_size = 4;          ///< windows at once
  void visit_fields(FieldVisitor& visit);
};
/// Throws Error naming the key.
void check_knn_config(const KnnConfig& config);

/// What the K nearest stored states of each token say: squared L2 distances, and whether the token
/// that followed the stored state is the one that comes here. Rows of K; a missing neighbour is at
/// infinity.
struct KnnTokens {
  int64_t neighbours = 0;             ///< K
  std::vector<int64_t> row;           ///< chunk-grid row of each token
  std::vector<double> nats;           ///< of each token under the model alone
  std::vector<int32_t> bytes;         ///< of each token
  std::vector<float> approximate_TK;  ///< the index's rounded distances
  std::vector<uint8_t> approximate_is_target_TK;
  std::vector<float> exact_TK;  ///< of re-ranked candidates
  std::vector<uint8_t> exact_is_target_TK;
  size_t size() const { return nats.size(); }
};

enum class KnnDistances { kApproximate, kExact };

/// ln p_kNN(target), with p_kNN proportional to the sum of exp(-scale d) over the neighbours whose
/// token is the target; -infinity without one.
double knn_log_probability(std::span<const float> distances, std::span<const uint8_t> is_target,
                           double scale);

/// -ln(lambda p_kNN + (1 - lambda) p_LM); exactly `nats` at lambda 0.
double interpolated_nats(double nats, double knn_log_probability, double lambda);

/// lambda weighs p_kNN, `scale` (a, an inverse temperature) the distances.
struct KnnSetting {
  double lambda = 0;
  double scale = 0;
};

/// Nats of every token.
std::vector<double> knn_nats(const KnnTokens& tokens, KnnDistances distances,
                             const KnnSetting& setting);

/// The pair of a grid with the smallest sum of nats; lambda 0 if nothing is better. Scales are
/// tried around 1 / the mean distance of the nearest neighbour.
KnnSetting tune_knn(const KnnTokens& tokens, KnnDistances distances, int num_threads);

}  // namespace retro
