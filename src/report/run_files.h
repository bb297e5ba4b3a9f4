// The result files of a run directory, read into memory; what is absent stays null or empty.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "retro/report/html_report.h"

#include "result_view.h"

namespace retro {

struct RunFiles {
  std::string name;
  std::vector<std::string> notes;               ///< about the files themselves
  Json result;                                  ///< eval/result.json
  Json examples;                                ///< eval/examples.json
  Json sample;                                  ///< sample.json
  Json breakdown, knn, questions;               ///< eval/breakdown.json, knn.json, qa.json
  Json ablations;                               ///< table.json of a folder of ablations
  std::vector<Json> tables;                     ///< eval/*.table.json, by name
  std::string config;                           ///< config.yaml
  std::map<std::string, std::string> settings;  ///< the same as dotted keys
  std::vector<Json> retro_metrics, baseline_metrics;
  Json corpus, database, index;  ///< their manifests
};

/// Throws Error naming the file that is no JSON, or the directory that is not there. Results of
/// kNN-LM and of questions are read only where the configuration asks for them and they are not
/// stale.
RunFiles read_run_files(const ReportedRun& run);

/// "model:\n  width: 128" -> {"model.width": "128"}; list items go by their
/// name, or count from 0. Reads the block style
/// that a run's config.yaml is written in.
std::map<std::string, std::string> flatten_config(const std::string& yaml);

}  // namespace retro
