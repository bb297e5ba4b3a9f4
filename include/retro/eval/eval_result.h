// The figures of an evaluation. JSON keys are the members' names (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "retro/eval/bootstrap.h"

namespace retro {

/// A row of fewer documents carries no mark of significance: a bootstrap over so few gives too
/// narrow an interval.
constexpr int64_t kFewestDocuments = 10;

/// One system on the chunks of one row.
struct SystemFigure {
  std::string column;  ///< ColumnKey::name, "on.k2.s0"
  double bits_per_byte = 0;
  Interval gain;  ///< reference - system; positive: the system is better
};

/// Chunks with r(C) <= alpha. `systems` is empty where the row has fewer than min_chunks chunks
/// ("too few").
struct FilteredRow {
  double alpha = 1;
  int64_t chunks = 0;
  int64_t documents = 0;
  int64_t bytes = 0;
  bool is_too_few = false;
  std::vector<SystemFigure> systems;
  /// random - headline, paired: what the neighbours themselves bring. Absent where no pass read
  /// random ones.
  std::optional<Interval> over_random;
  /// off - random, paired: above 0, random neighbours are better than none, which they must not be.
  std::optional<Interval> random_over_off;
};

/// reference - on with the chunk grid moved by `shift` tokens, on the same tokens at every shift.
struct ShiftRow {
  int64_t shift = 0;
  double alpha = 1;
  int64_t chunks = 0;
  int64_t documents = 0;
  bool is_too_few = false;
  double reference_bits_per_byte = 0;
  double on_bits_per_byte = 0;
  Interval gain;
};

/// What retrieval delivered for the scored chunks.
struct RetrievalFacts {
  int64_t queries = 0;  ///< scored chunks looked up
  double share_with_neighbour = 0;
  double mean_distance = 0;  ///< squared L2 of rank 0, over chunks that have one
  double mean_overlap = 0;   ///< mean r(C)
};

/// kMixed: of everything together, which sums up the sources' verdicts.
enum class VerdictKind { kRead, kCopied, kNothing, kUndecided, kMixed };

struct Verdict {
  VerdictKind kind = VerdictKind::kUndecided;
  std::string sentence;
};

/// A source, a part of it (`part` not empty), or everything (`source` is "all").
struct GroupResult {
  std::string source;
  std::string part;
  int64_t documents = 0;
  int64_t chunks = 0;
  int64_t bytes = 0;
  RetrievalFacts retrieval;
  std::vector<FilteredRow> filtered;  ///< one per alpha
  std::vector<ShiftRow> shifts;       ///< shift x (alpha 0.5 and 1)
  Verdict verdict;
  std::string name() const { return part.empty() ? source : source + ": " + part; }
};

struct EvalResult {
  std::string split;
  std::string reference;  ///< column the gains are counted from: "baseline.k0.s0", or "off.k0.s0"
                          ///< without a baseline
  std::string headline;   ///< the "on" column of the verdicts
  std::vector<std::string> columns;
  int64_t chunk_length = 0;
  int64_t sequence_length = 0;
  double window_overlap = 0;
  int64_t max_chunks_per_document = 0;
  int64_t overlap_neighbours = 10;
  int64_t bootstrap_resamples = 0;
  int64_t min_chunks = 20;
  std::vector<GroupResult> groups;  ///< sources, their parts after them, "all" last
  std::vector<std::string>
      notes;  ///< what a reader must know: caps, missing columns, database facts
};

std::string to_json(const EvalResult& result);
/// Throws Error naming `where` and the key.
EvalResult eval_result_from_json(const std::string& text, const std::string& where);

/// Tables for a terminal of at least 100 columns.
std::string format_result(const EvalResult& result);

}  // namespace retro
