// How long a run takes on this machine, before it starts.
#pragma once

#include "retro/core/json.h"
#include "retro/run/run_config.h"

namespace retro {

/// What a few seconds of work showed.
struct MachineRates {
  double chunks_per_second = 0;           ///< embedded, all threads
  double retro_tokens_per_second = 0;     ///< trained, at the training stage's thread count
  double baseline_tokens_per_second = 0;  ///< 0 where none is trained
};

/// Embeds a few hundred chunks and, where there is text to train on, trains a few steps of
/// throw-away models of the config's shape.
MachineRates measure_rates(const RunConfig& config);

/// Seconds of the run's long stages.
struct RunEstimate {
  double embed_seconds = 0;
  double train_seconds = 0;  ///< the trainings side by side
  double eval_seconds = 0;
  double total() const { return embed_seconds + train_seconds + eval_seconds; }
};
RunEstimate estimate_run(const RunConfig& config, const MachineRates& rates);

/// Tokens of the text that goes into the database, about, from its files. Throws Error where a file
/// is missing.
double estimate_database_tokens(const RunConfig& config);

/// Both of the above, said in the log.
RunEstimate estimate_on_this_machine(const RunConfig& config);

nlohmann::json to_json(const MachineRates& rates, const RunEstimate& estimate);

}  // namespace retro
