// The whole evaluation: passes of every column, then every figure out of the stored losses.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "retro/eval/eval_config.h"
#include "retro/eval/eval_result.h"
#include "retro/eval/evaluator.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// A grid moved by `grid->shift()` tokens with the table of its own keys searched against the
/// unshifted database.
struct ShiftedInput {
  const ChunkGrid* grid = nullptr;
  const NeighbourTable* table = nullptr;
};

/// The table of retrieval limited to a share of the database's documents.
struct FractionInput {
  double fraction = 1;
  const NeighbourTable* table = nullptr;
};

/// Everything an evaluation reads; nothing is owned. Null means absent: the columns that need it
/// are left out, and the result's notes say so.
struct EvalInputs {
  const ChunkGrid* grid = nullptr;  ///< documents of the split, unshifted
  const RetrievalDatabase* database = nullptr;
  const NeighbourTable* table = nullptr;  ///< normal exclusion, at least max(10, k) neighbours
  const NeighbourTable* group_table = nullptr;   ///< group exclusion: counterpart_removed
  const NeighbourTable* leaked_table = nullptr;  ///< no exclusion; rank 0 becomes the chunk itself
  const RetrievalDatabase* leaked_database =
      nullptr;                        ///< whose ids leaked_table holds; null: `database`
  std::vector<ShiftedInput> shifted;  ///< shifts above 0
  std::vector<FractionInput> fractions;
  const Tokenizer* tokenizer = nullptr;  ///< for words; null: no perplexity of words
  int32_t end_of_document = 0;
  int64_t sequence_length = 0;  ///< n in tokens where the config says 0
  std::string model_hash;       ///< of RETRO's weights: a changed model is evaluated again
  std::string baseline_hash;    ///< empty: no baseline
  /// Further baselines by kind ("baseline_wide"), in the order of the tables.
  std::vector<std::pair<std::string, std::string>> further_baselines;
  int num_threads = 1;             ///< for overlaps and bootstrap (Torch has its own)
  std::vector<std::string> notes;  ///< facts the tables must state (held-out text in the database)
};

/// "baseline", or "off" without one: what gains are counted from.
std::string reference_kind(const EvalInputs& inputs);

/// Every pass the config asks for and the inputs allow, in a fixed order. Baseline passes have kind
/// "baseline".
std::vector<ColumnKey> planned_columns(const EvalConfig& config, const EvalInputs& inputs);

/// Passes beside them: every window overlap and database fraction the config asks for. Their
/// figures are in breakdown.json.
std::vector<ColumnKey> variant_columns(const EvalConfig& config, const EvalInputs& inputs);

/// "w87.5", "d10": how a column's name states a share.
std::string variant_name(char letter, double share);

/// Runs one pass into DIRECTORY/NAME.eval unless that file is current. `model` is the baseline for
/// kind "baseline" (or a further baseline's) and RETRO otherwise. Passes are independent: they may
/// run in different processes.
void run_column(RetroModel& model, const ColumnKey& column, const EvalConfig& config,
                const EvalInputs& inputs, const std::filesystem::path& directory);

/// Runs every planned pass. `baseline` may be empty (no baseline: gains are counted from retrieval
/// off).
void run_columns(RetroModel& model, RetroModel* baseline, const EvalConfig& config,
                 const EvalInputs& inputs, const std::filesystem::path& directory);

/// All figures out of the stored passes; no model needed. Throws Error for a pass that is missing
/// or made from something else.
EvalResult summarise_columns(const EvalConfig& config, const EvalInputs& inputs,
                             const std::filesystem::path& directory);

}  // namespace retro
