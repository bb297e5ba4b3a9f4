// `retro ablate LIST`: one run for each row and seed, and one table of them all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/core/config.h"

namespace retro {

/// A row of the table: a change of the base configuration, and what is read from its runs.
struct AblationRow {
  std::string name;
  std::vector<std::string> overrides;  ///< "model.encoder.query_conditioning=false"
  std::string run;                     ///< name of the row whose runs are read; empty: its own
  /// Column of the evaluation ("on.k5.s0"), or its kind ("on": the headline, "off", "baseline").
  std::string column = "on";
  double paper = 0.0;  ///< the paper's figure; 0: none
  void visit_fields(FieldVisitor& visit);
};

struct AblationList {
  std::string title;
  std::string base;                        ///< configuration that every row changes
  std::string directory;                   ///< runs lie in DIRECTORY/ROW/seed_S
  std::vector<int64_t> seeds = {0, 1, 2};  ///< train.seed
  std::string source = "all";              ///< source of the evaluation whose bits per byte count
  std::string paper_unit;                  ///< what the paper's column measures
  std::vector<AblationRow> rows;
  void visit_fields(FieldVisitor& visit);
};

/// Throws Error naming the file and key.
AblationList load_ablations(const std::filesystem::path& path);

/// "no query conditioning" -> "no_query_conditioning".
std::string folder_name(const std::string& row);

/// Figures of a row over the seeds that are finished. Differences are to the first row, by seed.
struct AblationFigure {
  std::string name;
  double paper = 0;
  double paper_difference = 0;
  std::vector<double> bits_per_byte;  ///< by seed
  double mean = 0, spread = 0;        ///< spread: standard deviation (n - 1); NaN for one seed
  double difference = 0, difference_spread = 0;
};

/// Reads DIRECTORY/ROW/seed_S/eval/result.json; runs that are not there are left out.
std::vector<AblationFigure> ablation_figures(const AblationList& list);
std::string format_ablations(const AblationList& list, const std::vector<AblationFigure>& figures);
std::string ablations_json(const AblationList& list, const std::vector<AblationFigure>& figures);

/// Runs what is missing as child processes, one after the other, sharing what the text stages of
/// the base configuration make (hard links); writes DIRECTORY/table.json. With a non-empty `only`
/// runs that row alone. Returns 0, or the exit status of the run that failed.
int execute_ablations(const AblationList& list, const std::vector<std::string>& overrides,
                      const std::string& only);

}  // namespace retro
