#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/parallel.h"
#include "retro/eval/evaluation.h"
#include "retro/eval/filtered_bpb.h"
#include "retro/eval/overlap.h"
#include "retro/eval/row_groups.h"
#include "retro/eval/verdict.h"

namespace retro {

namespace {

/// Everything the figures are computed from.
struct Measured {
  std::vector<ChunkOverlap> overlaps;
  ChunkFacts facts;
  std::map<ColumnKey, ChunkLosses> whole;  ///< unshifted passes, by chunk
  std::map<ColumnKey, ChunkLosses>
      shifted;  ///< passes of the shift test, regrouped on the normal grid
};

LossFile open_column(const ColumnKey& column, const std::filesystem::path& directory) {
  return LossFile(directory / (column.name() + ".eval"));
}

/// What stands for the reference at `shift`.
ColumnKey reference_at(const EvalConfig& config, const EvalInputs& inputs, int64_t shift) {
  return {reference_kind(inputs), 0, config.shift_baseline ? shift : 0};
}

std::vector<int64_t> tested_shifts(const EvalConfig& config, const EvalInputs& inputs) {
  std::vector<int64_t> shifts;
  for (const int64_t shift : config.shifts) {
    const auto has_shift = [shift](const ShiftedInput& input) {
      return input.grid->shift() == shift;
    };
    const bool is_there = std::any_of(inputs.shifted.begin(), inputs.shifted.end(), has_shift);
    if (shift == 0 ? !inputs.shifted.empty() : is_there) shifts.push_back(shift);
  }
  return shifts;
}

const ChunkGrid& pass_grid(const EvalInputs& inputs, int64_t shift) {
  for (const ShiftedInput& shifted : inputs.shifted) {
    if (shifted.grid->shift() == shift) return *shifted.grid;
  }
  return *inputs.grid;
}

Measured measure(const EvalConfig& config, const EvalInputs& inputs,
                 const std::filesystem::path& directory) {
  Measured measured;
  measured.overlaps = chunk_overlaps(*inputs.grid, *inputs.table, *inputs.database,
                                     config.overlap_neighbours, inputs.num_threads);
  for (int64_t d = 0; d < inputs.grid->num_documents(); ++d) {
    const int64_t end = d + 1 < inputs.grid->num_documents() ? inputs.grid->first_row(d + 1)
                                                             : inputs.grid->num_rows();
    for (int64_t row = inputs.grid->first_row(d); row < end; ++row) {
      measured.facts.document.push_back(static_cast<int32_t>(d));
      measured.facts.overlap.push_back(measured.overlaps[static_cast<size_t>(row)].ratio());
    }
  }
  for (const ColumnKey& column : planned_columns(config, inputs)) {
    if (column.shift == 0)
      measured.whole[column] = chunk_losses(open_column(column, directory), *inputs.grid);
  }
  for (const int64_t shift : tested_shifts(config, inputs)) {
    for (const ColumnKey& column :
         {ColumnKey{"on", config.neighbours.front(), shift}, reference_at(config, inputs, shift)}) {
      if (measured.shifted.contains(column)) continue;
      measured.shifted[column] = regrouped_losses(open_column(column, directory),
                                                  pass_grid(inputs, column.shift), *inputs.grid);
    }
  }
  return measured;
}

RetrievalFacts retrieval_facts(const Measured& measured, const std::vector<int64_t>& rows) {
  RetrievalFacts facts;
  double distances = 0;
  int64_t with_neighbour = 0;
  for (const int64_t row : rows) {
    const ChunkOverlap& overlap = measured.overlaps[static_cast<size_t>(row)];
    facts.mean_overlap += overlap.ratio();
    if (!overlap.has_neighbour) continue;
    ++with_neighbour;
    distances += static_cast<double>(overlap.nearest_distance);
  }
  facts.queries = static_cast<int64_t>(rows.size());
  const auto count = static_cast<double>(std::max<size_t>(rows.size(), 1));
  facts.mean_overlap /= count;
  facts.share_with_neighbour = static_cast<double>(with_neighbour) / count;
  facts.mean_distance = with_neighbour == 0 ? NAN : distances / static_cast<double>(with_neighbour);
  return facts;
}

class Summariser {
 public:
  Summariser(const EvalConfig& config, const EvalInputs& inputs, const Measured& measured)
      : config_(config),
        inputs_(inputs),
        measured_(measured),
        options_{config.bootstrap_resamples, 0.95, static_cast<uint64_t>(config.seed)},
        reference_{reference_kind(inputs), 0, 0},
        headline_{"on", config.neighbours.front(), 0} {}

  GroupResult summarise(const RowGroup& group) const {
    GroupResult result;
    result.source = group.source;
    result.part = group.part;
    result.chunks = static_cast<int64_t>(group.rows.size());
    result.documents = count_documents(measured_.facts, group.rows);
    result.bytes = sum_losses(measured_.whole.at(reference_), group.rows).bytes;
    result.retrieval = retrieval_facts(measured_, group.rows);
    for (const double alpha : config_.alphas) result.filtered.push_back(filtered_row(group, alpha));
    for (const double alpha : shift_alphas()) {
      for (const int64_t shift : tested_shifts(config_, inputs_)) {
        result.shifts.push_back(shift_row(group, alpha, shift));
      }
    }
    result.verdict = verdict_of(result, headline_.name(), rule());
    return result;
  }

  VerdictRule rule() const {
    VerdictRule rule;
    rule.min_documents = config_.min_documents;
    rule.largest_shift = std::max<int64_t>(1, inputs_.grid->chunk_length() / 8);
    if (reference_.kind == "off") rule.reference = "the same model with retrieval off";
    return rule;
  }

 private:
  bool is_too_few(const std::vector<int64_t>& rows) const {
    return static_cast<int64_t>(rows.size()) < std::max<int64_t>(config_.min_chunks, 1);
  }

  /// Nothing where one of the two was not read.
  std::optional<Interval> difference(const ColumnKey& reference, const ColumnKey& system,
                                     const std::vector<int64_t>& rows) const {
    const auto first = measured_.whole.find(reference);
    const auto second = measured_.whole.find(system);
    if (first == measured_.whole.end() || second == measured_.whole.end()) return std::nullopt;
    return loss_difference(measured_.facts, first->second, second->second, rows, options_);
  }

  FilteredRow filtered_row(const RowGroup& group, double alpha) const {
    const auto rows = rows_within(measured_.facts, group.rows, alpha);
    const ChunkLosses& reference = measured_.whole.at(reference_);
    FilteredRow row;
    row.alpha = alpha;
    row.chunks = static_cast<int64_t>(rows.size());
    row.documents = count_documents(measured_.facts, rows);
    row.bytes = sum_losses(reference, rows).bytes;
    row.is_too_few = is_too_few(rows);
    if (row.is_too_few) return row;
    for (const ColumnKey& column : planned_columns(config_, inputs_)) {
      if (column.shift != 0) continue;
      const ChunkLosses& losses = measured_.whole.at(column);
      row.systems.push_back({column.name(), sum_losses(losses, rows).bits_per_byte(),
                             loss_difference(measured_.facts, reference, losses, rows, options_)});
    }
    const ColumnKey random{"random", headline_.k, 0};
    row.over_random = difference(random, headline_, rows);
    row.random_over_off = difference({"off", 0, 0}, random, rows);
    return row;
  }

  /// The largest alpha that counts as little overlap, and all chunks.
  std::vector<double> shift_alphas() const {
    std::vector<double> alphas;
    for (const double alpha : config_.alphas) {
      if (alpha <= rule().low_alpha) alphas = {alpha};
    }
    alphas.push_back(1.0);
    return alphas;
  }

  ShiftRow shift_row(const RowGroup& group, double alpha, int64_t shift) const {
    const auto rows = rows_within(measured_.facts, group.rows, alpha);
    const ChunkLosses& reference = measured_.shifted.at(reference_at(config_, inputs_, shift));
    const ChunkLosses& on = measured_.shifted.at({"on", headline_.k, shift});
    ShiftRow row;
    row.shift = shift;
    row.alpha = alpha;
    row.chunks = static_cast<int64_t>(rows.size());
    row.documents = count_documents(measured_.facts, rows);
    row.is_too_few = is_too_few(rows);
    if (row.is_too_few) return row;
    row.reference_bits_per_byte = sum_losses(reference, rows).bits_per_byte();
    row.on_bits_per_byte = sum_losses(on, rows).bits_per_byte();
    row.gain = loss_difference(measured_.facts, reference, on, rows, options_);
    return row;
  }

  const EvalConfig& config_;
  const EvalInputs& inputs_;
  const Measured& measured_;
  BootstrapOptions options_;
  ColumnKey reference_;
  ColumnKey headline_;
};

std::vector<std::string> notes_of(const EvalConfig& config, const EvalInputs& inputs) {
  std::vector<std::string> notes = inputs.notes;
  if (config.max_chunks_per_document > 0) {
    notes.push_back(fmt::format(
        "only the first {} chunks of each document count (eval.max_chunks_per_document)",
        config.max_chunks_per_document));
  }
  if (inputs.baseline_hash.empty()) {
    notes.push_back(
        "no baseline was trained: gains are counted from the same model with retrieval off");
  }
  if (config.alphas.front() > kLowAlpha) {
    notes.push_back(fmt::format(
        "eval.alphas has none of at most {}: no verdict can tell reading from copying", kLowAlpha));
  }
  if (inputs.shifted.empty()) notes.push_back("no shift test was run");
  if (inputs.leaked_table == nullptr)
    notes.push_back("no leaked neighbours were built: that control is missing");
  if (inputs.group_table == nullptr)
    notes.push_back("no group table was built: counterpart removed is missing");
  return notes;
}

}  // namespace

EvalResult summarise_columns(const EvalConfig& config, const EvalInputs& inputs,
                             const std::filesystem::path& directory) {
  const Measured measured = measure(config, inputs, directory);
  EvalResult result;
  result.split = config.split;
  result.reference = ColumnKey{reference_kind(inputs), 0, 0}.name();
  result.headline = ColumnKey{"on", config.neighbours.front(), 0}.name();
  for (const ColumnKey& column : planned_columns(config, inputs))
    result.columns.push_back(column.name());
  result.chunk_length = inputs.grid->chunk_length();
  result.sequence_length =
      config.sequence_length > 0 ? config.sequence_length : inputs.sequence_length;
  result.window_overlap = config.window_overlap;
  result.max_chunks_per_document = config.max_chunks_per_document;
  result.overlap_neighbours = config.overlap_neighbours;
  result.bootstrap_resamples = config.bootstrap_resamples;
  result.min_chunks = config.min_chunks;
  result.notes = notes_of(config, inputs);
  const auto groups = row_groups(*inputs.grid, config.breakdown, config.max_chunks_per_document);
  result.groups.resize(groups.size());
  const Summariser summariser(config, inputs, measured);
  const auto count = static_cast<int64_t>(groups.size());
  parallel_for(
      count, inputs.num_threads,
      [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
          result.groups[static_cast<size_t>(g)] =
              summariser.summarise(groups[static_cast<size_t>(g)]);
        }
      },
      1);
  result.groups.back().verdict = combined_verdict(result.groups);
  return result;
}

}  // namespace retro
