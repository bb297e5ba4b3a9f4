#include "retro/eval/eval_config.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "retro/core/error.h"
#include "retro/eval/verdict.h"

namespace retro {

void EvalConfig::visit_fields(FieldVisitor& visit) {
  visit.choice("split", split, {"test", "validation"}, "documents that are evaluated");
  visit("neighbours", neighbours, "k; the first is the headline, the others give the curve over k");
  visit("alphas", alphas, "largest overlap r(C) of the rows of the filtered curve, ascending");
  visit("shifts", shifts, "shift test: tokens the chunk grid is moved by; empty: no shift test");
  visit("controls", controls, "columns beside off and on: random, leaked, counterpart_removed");
  visit("shift_baseline", shift_baseline, "also run the baseline on every shifted grid");
  visit("overlap_neighbours", overlap_neighbours, "neighbours that r(C) looks at");
  visit("max_chunks_per_document", max_chunks_per_document,
        "first chunks of each document that count; 0: all");
  visit("sequence_length", sequence_length, "tokens of a window; 0: as in training");
  visit("window_overlap", window_overlap,
        "share of a window that was scored before: 0, 0.5, 0.75 or 0.875");
  visit("windows", windows,
        "further window overlaps (0.5, 0.75, 0.875): baseline, off and on are read with each");
  visit("database_fractions", database_fractions,
        "shares of the database's documents (0.01, 0.1, 0.5) that retrieval is limited to in turn; "
        "the index is not rebuilt");
  visit("batch_size", batch_size, "windows at once");
  visit("breakdown", breakdown,
        "field of the documents by which a source is shown in parts; empty: none");
  visit("bootstrap_resamples", bootstrap_resamples, "draws of documents behind a 95 % interval");
  visit("min_chunks", min_chunks, "rows of fewer chunks print \"too few\"");
  visit("min_documents", min_documents, "sources of fewer documents get no verdict");
  visit("examples", examples,
        "chunks of each source and part kept for the report's reader: where reading helped most, "
        "where it hurt most, and between");
  visit("documents", documents,
        "documents of each source kept for the report's reader with every scored chunk");
  visit("seed", seed, "of random neighbours, the bootstrap and the choice of examples");
}

namespace {

void check_shifts(const std::vector<int64_t>& shifts, int64_t chunk_length) {
  for (const int64_t shift : shifts) {
    RETRO_CHECK(shift >= 0 && shift < chunk_length,
                "eval.shifts: {} is not between 0 and {} (the chunk length minus 1)", shift,
                chunk_length - 1);
  }
  RETRO_CHECK(std::is_sorted(shifts.begin(), shifts.end(), std::less_equal<>()),
              "eval.shifts: [{}] must ascend", fmt::join(shifts, ", "));
  RETRO_CHECK(shifts.empty() || shifts.front() == 0,
              "eval.shifts: [{}] must begin with 0, the unshifted grid", fmt::join(shifts, ", "));
}

void check_shares(const std::string& key, const std::vector<double>& shares) {
  for (const double share : shares) {
    RETRO_CHECK(share > 0.0 && share < 1.0, "eval.{}: {} is not between 0 and 1", key, share);
  }
  RETRO_CHECK(std::is_sorted(shares.begin(), shares.end(), std::less_equal<>()),
              "eval.{}: [{}] must ascend", key, fmt::join(shares, ", "));
}

void check_window(const EvalConfig& config) {
  RETRO_CHECK(config.sequence_length >= 0,
              "eval.sequence_length is {}: it must be at least 0 (as in training)",
              config.sequence_length);
  RETRO_CHECK(config.window_overlap >= 0.0 && config.window_overlap < 1.0,
              "eval.window_overlap is {}: it must be at least 0 and below 1",
              config.window_overlap);
}

void check_counts(const EvalConfig& config) {
  const auto at_least = [](const char* key, int64_t value, int64_t least) {
    RETRO_CHECK(value >= least, "eval.{} is {}: it must be at least {}", key, value, least);
  };
  at_least("batch_size", config.batch_size, 1);
  at_least("bootstrap_resamples", config.bootstrap_resamples, 2);
  at_least("max_chunks_per_document", config.max_chunks_per_document, 0);
  at_least("min_chunks", config.min_chunks, 0);
  at_least("min_documents", config.min_documents, 0);
  at_least("examples", config.examples, 0);
  at_least("documents", config.documents, 0);
}

void check_controls(const std::vector<std::string>& controls) {
  constexpr std::array<std::string_view, 3> kKnown = {"random", "leaked", "counterpart_removed"};
  for (const std::string& control : controls) {
    RETRO_CHECK(std::find(kKnown.begin(), kKnown.end(), control) != kKnown.end(),
                "eval.controls: `{}` is not one of {}", control, fmt::join(kKnown, ", "));
  }
}

}  // namespace

int64_t evaluation_neighbours(const EvalConfig& config) {
  int64_t largest = config.overlap_neighbours;
  for (const int64_t k : config.neighbours) largest = std::max(largest, k);
  return largest;
}

void check_eval_config(const EvalConfig& config, int64_t chunk_length, int64_t table_neighbours) {
  RETRO_CHECK(!config.neighbours.empty(), "eval.neighbours is empty: name at least one k");
  for (const int64_t k : config.neighbours) {
    RETRO_CHECK(k >= 1 && k <= table_neighbours,
                "eval.neighbours: {} is not between 1 and the {} neighbours stored per chunk "
                "(neighbours.count)",
                k, table_neighbours);
  }
  RETRO_CHECK(config.overlap_neighbours >= 1 && config.overlap_neighbours <= table_neighbours,
              "eval.overlap_neighbours: {} is not between 1 and the {} neighbours stored per chunk "
              "(neighbours.count)",
              config.overlap_neighbours, table_neighbours);
  RETRO_CHECK(
      !config.alphas.empty() && config.alphas.back() == 1.0 && config.alphas.front() >= 0.0 &&
          std::is_sorted(config.alphas.begin(), config.alphas.end(), std::less_equal<>()),
      "eval.alphas: [{}] must ascend within 0 and 1 and end with 1, the plain bits per byte",
      fmt::join(config.alphas, ", "));
  check_shifts(config.shifts, chunk_length);
  check_controls(config.controls);
  check_shares("windows", config.windows);
  check_shares("database_fractions", config.database_fractions);
  check_window(config);
  check_counts(config);
}

}  // namespace retro
