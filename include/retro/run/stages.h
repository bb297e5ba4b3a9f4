// The stages of a RETRO run and what each one does.
#pragma once

#include <string>
#include <vector>

#include "retro/run/neighbour_sets.h"
#include "retro/run/run_config.h"
#include "retro/run/stage_graph.h"

namespace retro {

/// tokenizer, corpus, database, index, neighbours, train.baseline, train.retro (or fit), eval,
/// sample, report: with keys from their part of the config.
std::vector<Stage> list_stages(const RunConfig& config);

/// Executes one stage in this process. Throws Error; returns 0, or 130 after an interrupt that
/// saved its work.
int execute_stage(const RunConfig& config, const std::string& name);

// One function a stage.
int execute_tokenizer_stage(const RunConfig& config);
int execute_corpus_stage(const RunConfig& config);
int execute_database_stage(const RunConfig& config);
/// Part of what execute_database_stage makes, for several processes at once.
void build_run_database_part(const RunConfig& config, const BuildPart& part);
int execute_index_stage(const RunConfig& config);
int execute_neighbours_stage(const RunConfig& config, const std::vector<NeighbourSet>& sets);
/// Part of every table of both neighbours stages, for several processes at once.
void build_run_neighbours_part(const RunConfig& config, const BuildPart& part);
/// "retro", or one of baseline_names.
int execute_training_stage(const RunConfig& config, const std::string& training);
/// The evaluation passes of one training's model, for `execute_evaluation_stage` to find.
int execute_passes_stage(const RunConfig& config, const std::string& training);
int execute_evaluation_stage(const RunConfig& config);
int execute_knn_stage(const RunConfig& config);
int execute_qa_stage(const RunConfig& config);
int execute_sample_stage(const RunConfig& config);
int execute_report_stage(const RunConfig& config);

}  // namespace retro
