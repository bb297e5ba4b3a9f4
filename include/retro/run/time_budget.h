// What a run's time budget leaves of it on this machine: chosen once, then remembered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "retro/run/calibration.h"
#include "retro/run/run_config.h"

namespace retro {

/// Whole per cents, so that nothing depends on the digits of a measurement.
struct RunShare {
  int64_t percent = 100;         ///< of the documents of each source and of the training steps
  double budget_minutes = 0;     ///< 0: the run has no budget
  double estimated_minutes = 0;  ///< of the whole run, when it was measured
  std::string key;               ///< of what was measured
};

using RunEstimator = std::function<RunEstimate(const RunConfig&)>;

/// The share that fits config.time_budget_minutes, 1 to 100 per cent: the one in RUN/budget.json
/// where it was measured for the same text, models and training lengths, else budget over
/// `estimate`. What leaves the trainings as they are (sampling, evaluation, threads, the device)
/// is not measured anew: another share would remake everything. 100 without a budget.
RunShare share_within_budget(const RunConfig& config,
                             const RunEstimator& estimate = estimate_on_this_machine);

/// `config` with that part of the documents and steps, and without the budget: a run that is
/// saved so is not cut again.
RunConfig cut_to_share(const RunConfig& config, const RunShare& share);

/// Writes RUN/budget.json, where there is a budget.
void remember_share(const RunConfig& config, const RunShare& share);

}  // namespace retro
