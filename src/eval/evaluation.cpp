#include "retro/eval/evaluation.h"

#include <algorithm>
#include <memory>

#include "retro/core/error.h"
#include "retro/data/neighbour_source.h"

namespace retro {

namespace {

bool has_control(const EvalConfig& config, const std::string& name) {
  return std::find(config.controls.begin(), config.controls.end(), name) != config.controls.end();
}

int64_t sequence_length(const EvalConfig& config, const EvalInputs& inputs) {
  return config.sequence_length > 0 ? config.sequence_length : inputs.sequence_length;
}

const ShiftedInput* find_shift(const EvalInputs& inputs, int64_t shift) {
  for (const ShiftedInput& shifted : inputs.shifted) {
    if (shifted.grid->shift() == shift) return &shifted;
  }
  return nullptr;
}

/// The grid a column reads.
const ChunkGrid& grid_of(const ColumnKey& column, const EvalInputs& inputs) {
  if (column.shift == 0) return *inputs.grid;
  const ShiftedInput* shifted = find_shift(inputs, column.shift);
  RETRO_CHECK(shifted != nullptr, "shift test: there is no grid shifted by {} tokens",
              column.shift);
  return *shifted->grid;
}

/// The table a column reads, null for those without one.
const NeighbourTable* table_of(const ColumnKey& column, const EvalInputs& inputs) {
  for (const FractionInput& input : inputs.fractions) {
    if (column.variant == variant_name('d', input.fraction)) return input.table;
  }
  if (column.kind == "on")
    return column.shift == 0 ? inputs.table : find_shift(inputs, column.shift)->table;
  if (column.kind == "leaked") return inputs.leaked_table;
  if (column.kind == "counterpart_removed") return inputs.group_table;
  return nullptr;
}

/// The database whose ids the column's table holds.
const RetrievalDatabase& database_of(const ColumnKey& column, const EvalInputs& inputs) {
  const bool is_other = column.kind == "leaked" && inputs.leaked_database != nullptr;
  return is_other ? *inputs.leaked_database : *inputs.database;
}

std::unique_ptr<NeighbourSource> neighbours_of(const ColumnKey& column, const EvalConfig& config,
                                               const EvalInputs& inputs) {
  if (column.k == 0) return nullptr;
  const ChunkGrid& grid = grid_of(column, inputs);
  const NeighbourTable* table = table_of(column, inputs);
  if (column.kind == "random") {
    return std::make_unique<RandomNeighbours>(grid, *inputs.database,
                                              static_cast<uint64_t>(config.seed));
  }
  const RetrievalDatabase& database = database_of(column, inputs);
  if (column.kind == "leaked") return std::make_unique<LeakedNeighbours>(grid, *table, database);
  return std::make_unique<TableNeighbours>(*table, database, column.kind);
}

/// Names what the neighbours came from well enough that another table is not taken for the same.
std::string neighbours_name(const ColumnKey& column, const EvalInputs& inputs) {
  if (column.k == 0) return "none";
  const RetrievalDatabase& database = database_of(column, inputs);
  const NeighbourTable* table = table_of(column, inputs);
  if (table == nullptr) return fmt::format("{} of {}", column.kind, database.version());
  return fmt::format("{} of {}: {} x {}, mean distance {}", column.kind, database.version(),
                     table->num_rows(), table->num_neighbours(), table->summary().mean_distance);
}

/// Overlap of the windows of a column.
double window_overlap(const ColumnKey& column, const EvalConfig& config) {
  for (const double overlap : config.windows) {
    if (column.variant == variant_name('w', overlap)) return overlap;
  }
  return config.window_overlap;
}

std::string weights_of(const ColumnKey& column, const EvalInputs& inputs) {
  if (column.kind == "baseline") return inputs.baseline_hash;
  for (const auto& [kind, hash] : inputs.further_baselines) {
    if (column.kind == kind) return hash;
  }
  return inputs.model_hash;
}

LossDescription describe(const RetroModel& model, const ColumnKey& column, const EvalConfig& config,
                         const EvalInputs& inputs) {
  LossDescription description;
  description.column = column;
  const bool is_bfloat16 = model->precision() == Precision::kBfloat16;
  description.model =
      fmt::format("{} in {}", weights_of(column, inputs), is_bfloat16 ? "bfloat16" : "float32");
  description.grid_hash = grid_of(column, inputs).hash();
  description.neighbours = neighbours_name(column, inputs);
  description.chunk_length = inputs.grid->chunk_length();
  description.sequence_length = sequence_length(config, inputs);
  description.window_overlap = window_overlap(column, config);
  description.max_chunks_per_document = config.max_chunks_per_document;
  description.seed = column.kind == "random" ? config.seed : 0;
  return description;
}

void check_inputs(const EvalConfig& config, const EvalInputs& inputs) {
  RETRO_CHECK(inputs.grid != nullptr && inputs.table != nullptr && inputs.database != nullptr,
              "evaluation: grid, neighbour table and database are needed");
  RETRO_CHECK(inputs.grid->num_rows() > 0, "evaluation: the {} split holds no text", config.split);
  RETRO_CHECK(inputs.grid->shift() == 0, "evaluation: the first grid is shifted by {} tokens",
              inputs.grid->shift());
  RETRO_CHECK(inputs.database->num_chunks() > 0, "evaluation: the database {} is empty",
              inputs.database->directory().string());
  check_eval_config(config, inputs.grid->chunk_length(), inputs.table->num_neighbours());
  const int64_t length = sequence_length(config, inputs);
  RETRO_CHECK(length > 0 && length % inputs.grid->chunk_length() == 0,
              "eval.sequence_length is {}: it must be a multiple of the chunk length {}", length,
              inputs.grid->chunk_length());
}

}  // namespace

std::string reference_kind(const EvalInputs& inputs) {
  return inputs.baseline_hash.empty() ? "off" : "baseline";
}

std::vector<ColumnKey> planned_columns(const EvalConfig& config, const EvalInputs& inputs) {
  check_inputs(config, inputs);
  std::vector<ColumnKey> columns;
  if (!inputs.baseline_hash.empty()) columns.push_back({"baseline", 0, 0});
  for (const auto& [kind, hash] : inputs.further_baselines) columns.push_back({kind, 0, 0});
  columns.push_back({"off", 0, 0});
  for (const int64_t k : config.neighbours) columns.push_back({"on", k, 0});
  const int64_t k = config.neighbours.front();
  if (has_control(config, "random")) columns.push_back({"random", k, 0});
  if (has_control(config, "leaked") && inputs.leaked_table != nullptr)
    columns.push_back({"leaked", k, 0});
  if (has_control(config, "counterpart_removed") && inputs.group_table != nullptr) {
    columns.push_back({"counterpart_removed", k, 0});
  }
  for (const int64_t shift : config.shifts) {
    if (shift == 0 || find_shift(inputs, shift) == nullptr) continue;
    if (config.shift_baseline) columns.push_back({reference_kind(inputs), 0, shift});
    columns.push_back({"on", k, shift});
  }
  return columns;
}

std::vector<ColumnKey> variant_columns(const EvalConfig& config, const EvalInputs& inputs) {
  check_inputs(config, inputs);
  std::vector<ColumnKey> columns;
  const int64_t k = config.neighbours.front();
  for (const double overlap : config.windows) {
    const std::string variant = variant_name('w', overlap);
    if (!inputs.baseline_hash.empty()) columns.push_back({"baseline", 0, 0, variant});
    columns.push_back({"off", 0, 0, variant});
    columns.push_back({"on", k, 0, variant});
  }
  for (const FractionInput& input : inputs.fractions)
    columns.push_back({"on", k, 0, variant_name('d', input.fraction)});
  return columns;
}

std::string variant_name(char letter, double share) {
  return fmt::format("{}{:g}", letter, 100 * share);
}

void run_column(RetroModel& model, const ColumnKey& column, const EvalConfig& config,
                const EvalInputs& inputs, const std::filesystem::path& directory) {
  check_inputs(config, inputs);
  const ChunkGrid& grid = grid_of(column, inputs);
  const int64_t num_chunks = sequence_length(config, inputs) / grid.chunk_length();
  const EvaluationDataset dataset(grid, inputs.end_of_document, num_chunks,
                                  window_overlap(column, config));
  const auto source = neighbours_of(column, config, inputs);
  PassOptions options;
  options.batch_size = config.batch_size;
  options.max_chunks_per_document = config.max_chunks_per_document;
  options.label = fmt::format("evaluate {}", column.name());
  std::filesystem::create_directories(directory);
  evaluate_losses(model, dataset, source.get(), describe(model, column, config, inputs), options,
                  directory / (column.name() + ".eval"));
}

void run_columns(RetroModel& model, RetroModel* baseline, const EvalConfig& config,
                 const EvalInputs& inputs, const std::filesystem::path& directory) {
  for (const ColumnKey& column : planned_columns(config, inputs)) {
    const bool is_baseline = column.kind.starts_with("baseline");
    RETRO_CHECK(!is_baseline || baseline != nullptr,
                "evaluation: the baseline's weights are missing");
    run_column(is_baseline ? *baseline : model, column, config, inputs, directory);
  }
}

}  // namespace retro
