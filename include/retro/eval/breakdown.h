// Questions asked of the stored losses after the passes: where in documents and chunks the gain is,
// over words, longer context and smaller databases. JSON keys are the members' names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/eval/eval_result.h"
#include "retro/eval/evaluation.h"

namespace retro {

/// One part of a partition: tokens with from <= value <= to.
struct BreakdownPart {
  int64_t from = 0;
  int64_t to = 0;  ///< -1: no end
  int64_t documents = 0;
  int64_t tokens = 0;  ///< scored targets, end-of-document tokens included
  int64_t bytes = 0;
  bool is_too_few = false;  ///< fewer tokens than eval.min_chunks chunks hold: tables show none
  std::vector<SystemFigure> systems;
  std::vector<double> nats;  ///< of each system; they sum to the whole over the parts
};

/// Every scored token of a source (or of "all") is in exactly one part.
struct Partition {
  std::string name;  ///< document_length | position_in_document | position_in_chunk
  std::string unit;  ///< tokens | chunks
  std::string source;
  std::vector<BreakdownPart> parts;
};

struct WordPerplexity {
  std::string column;
  double nats = 0;
  double perplexity = 0;  ///< exp(nats / words)
};

/// Words are runs of bytes other than ASCII white space; a word counts for the chunk it begins in.
struct WordFigures {
  std::string source;
  int64_t words = 0;
  std::vector<WordPerplexity> systems;
};

/// All chunks of a source read in another way: windows that overlap by `share`, or retrieval
/// limited to that share of the database's documents (1: the usual pass).
struct VariantRow {
  std::string source;
  double share = 0;
  int64_t chunks = 0;
  int64_t bytes = 0;
  bool is_too_few = false;            ///< fewer chunks than eval.min_chunks: tables show none of it
  std::vector<SystemFigure> systems;  ///< gains against the reference of the same windows
};

struct Breakdown {
  std::string split;
  std::string reference;
  std::vector<Partition> partitions;
  std::vector<WordFigures> words;
  std::vector<VariantRow> windows;
  std::vector<VariantRow> database;
};

/// Out of the stored passes; no model needed. Throws Error for a pass that is missing or made from
/// something else.
Breakdown break_down(const EvalConfig& config, const EvalInputs& inputs,
                     const std::filesystem::path& directory);

/// The figure whose gain a table shows: the first with retrieval on, the last where there is none;
/// null for an empty row.
const SystemFigure* headline_figure(const std::vector<SystemFigure>& systems);

std::string to_json(const Breakdown& breakdown);
/// Tables for a terminal.
std::string format_breakdown(const Breakdown& breakdown);

}  // namespace retro
