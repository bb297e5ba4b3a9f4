// What a run takes in memory, disk and compute, before anyone pays for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/core/json.h"
#include "retro/model/parameter_count.h"
#include "retro/run/run_config.h"

namespace retro {

/// Computed from the config alone: nothing is read but the encoder's width, nothing is measured.
/// doubles where the paper's sizes pass 2^63.
struct ResourcePlan {
  ParameterCount parameters;
  double train_tokens = 0;      ///< positions of all steps
  double train_flops = 0;       ///< forward and backward, without recomputation
  int64_t num_trained = 0;      ///< weights that a fit's frozen base does not hold
  double weight_bytes = 0;      ///< weights; gradients and AdamW's two moments of the trained ones
  double activation_bytes = 0;  ///< of one micro-batch, about; by train.recompute
  double checkpoint_bytes = 0;  ///< one; trained weights and optimizer state
  double database_tokens = 0;
  double database_chunks = 0;
  int64_t key_width = 0;
  bool is_key_width_known = true;  ///< false: no encoder at embed.model, the paper's is assumed
  double value_bytes = 0;          ///< tokens on disk
  double key_bytes = 0;            ///< keys on disk
  std::string index_type;
  double index_bytes = 0;  ///< inverted lists, in memory when searched
  double table_bytes = 0;  ///< neighbours of as many training chunks as the database has
};

/// `database_tokens`: of the retrieval database's text. Throws Error for an impossible model.
ResourcePlan plan_resources(const RunConfig& config, double database_tokens);

/// Aligned lines for people; the database alone where there is no text to train on.
std::vector<std::string> describe(const ResourcePlan& plan, const RunConfig& config);
nlohmann::json to_json(const ResourcePlan& plan);

/// "1.75T", "300M", "4096" -> a number. Throws Error.
double parse_token_count(const std::string& text);

}  // namespace retro
