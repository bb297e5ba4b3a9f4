// What an evaluation measures: every key of the `eval` section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/core/config.h"

namespace retro {

struct EvalConfig {
  std::string split = "test";  ///< test | validation
  /// k; the first is the headline, the others give the curve over k.
  std::vector<int64_t> neighbours = {2};
  std::vector<double> alphas = {0.125, 0.25, 0.5, 0.75, 1.0};
  std::vector<int64_t> shifts = {0, 1, 2, 4, 8, 16, 32};  ///< tokens; empty: no shift test
  /// Columns beside retrieval off and on, which always run.
  std::vector<std::string> controls = {"random", "leaked", "counterpart_removed"};
  bool shift_baseline =
      true;  ///< the reference reads every shifted grid too; false: the normal one
  int64_t overlap_neighbours = 10;       ///< neighbours that r(C) looks at
  int64_t max_chunks_per_document = 16;  ///< first chunks of each document; 0: all
  int64_t sequence_length = 0;           ///< n in tokens; 0: as in training
  double window_overlap = 0.0;           ///< 0 | 0.5 | 0.75 | 0.875 of a sequence
  /// Further overlaps: baseline, off and on are read again with each.
  std::vector<double> windows = {};
  /// Shares of the database's documents: retrieval on is read again with each.
  std::vector<double> database_fractions = {};
  int64_t batch_size = 4;
  std::string breakdown = "";  ///< document field that splits a source ("change"); empty: none
  int64_t bootstrap_resamples = 2000;
  int64_t min_chunks = 20;     ///< rows of fewer print "too few"
  int64_t min_documents = 30;  ///< no verdict below
  int64_t examples = 12;       ///< chunks per source shown in the report's reader
  int64_t documents = 4;       ///< documents per source shown whole in the report's reader
  int64_t seed = 1;            ///< of random neighbours, bootstrap and examples
  void visit_fields(FieldVisitor& visit);
};

/// Neighbours that evaluation's usual table must hold: the largest k, and those r(C) looks at.
int64_t evaluation_neighbours(const EvalConfig& config);

/// Throws Error naming the key: no k, alphas not ascending in [0, 1], not ending with 1 or all
/// above kLowAlpha, a shift outside [0, m), k above the stored table (`table_neighbours`), a shift
/// test without s = 0, an unknown control, a window overlap outside [0, 1), a count that is
/// negative.
void check_eval_config(const EvalConfig& config, int64_t chunk_length, int64_t table_neighbours);

}  // namespace retro
