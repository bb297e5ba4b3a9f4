#include "retro/eval/breakdown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "retro/core/error.h"
#include "retro/eval/filtered_bpb.h"
#include "retro/eval/row_groups.h"

#include "token_parts.h"
#include "word_count.h"

namespace retro {

namespace {

/// A way to cut the tokens of a source into parts.
struct Cut {
  std::string name;
  std::string unit;
  std::vector<int64_t> starts;  ///< first value of each part
  std::function<int64_t(int64_t row, int64_t index)> value;

  size_t part(int64_t row, int64_t index) const {
    const auto after = std::upper_bound(starts.begin(), starts.end(), value(row, index));
    return static_cast<size_t>(after - starts.begin()) - 1;
  }
};

Cut by_document_length(const ChunkGrid& grid) {
  const int64_t m = grid.chunk_length();
  const auto length = [&grid](int64_t row, int64_t) {
    return grid.corpus().document(grid.document(grid.document_of_row(row))).num_tokens;
  };
  return {"document_length", "tokens", {0, m + 1, 4 * m + 1, 16 * m + 1, 64 * m + 1}, length};
}

Cut by_position_in_document(const ChunkGrid& grid) {
  const auto chunk = [&grid](int64_t row, int64_t) {
    return row - grid.first_row(grid.document_of_row(row));
  };
  return {"position_in_document", "chunks", {0, 1, 2, 4, 8, 16, 64}, chunk};
}

/// Eighths of a chunk: what a chunk's neighbours say reaches its last token and the next chunk.
Cut by_position_in_chunk(const ChunkGrid& grid) {
  const int64_t step = std::max<int64_t>(1, grid.chunk_length() / 8);
  Cut cut{"position_in_chunk", "tokens", {}, [](int64_t, int64_t index) { return index; }};
  for (int64_t start = 0; start < grid.chunk_length(); start += step) cut.starts.push_back(start);
  return cut;
}

class BreakdownBuilder {
 public:
  BreakdownBuilder(const EvalConfig& config, const EvalInputs& inputs,
                   const std::filesystem::path& directory)
      : config_(config),
        inputs_(inputs),
        directory_(directory),
        options_{config.bootstrap_resamples, 0.95, static_cast<uint64_t>(config.seed)},
        reference_{reference_kind(inputs), 0, 0} {
    for (int64_t row = 0; row < inputs.grid->num_rows(); ++row)
      facts_.document.push_back(static_cast<int32_t>(inputs.grid->document_of_row(row)));
    for (const RowGroup& group : row_groups(*inputs.grid, "", config.max_chunks_per_document))
      groups_.push_back(group);
  }

  Breakdown build() {
    Breakdown result;
    result.split = config_.split;
    result.reference = reference_.name();
    const ChunkGrid& grid = *inputs_.grid;
    for (const Cut& cut :
         {by_document_length(grid), by_position_in_document(grid), by_position_in_chunk(grid)}) {
      for (const RowGroup& group : groups_) result.partitions.push_back(partition(cut, group));
    }
    if (inputs_.tokenizer != nullptr) result.words = words();
    for (const RowGroup& group : groups_) {
      add_windows(group, result.windows);
      add_fractions(group, result.database);
    }
    return result;
  }

 private:
  /// What the partitions compare: the reference, other baselines, off, and on with every k.
  std::vector<ColumnKey> systems() const {
    std::vector<ColumnKey> columns;
    for (const ColumnKey& column : planned_columns(config_, inputs_)) {
      const bool is_control = column.kind == "random" || column.kind == "leaked" ||
                              column.kind == "counterpart_removed";
      if (column.shift == 0 && !is_control) columns.push_back(column);
    }
    return columns;
  }

  const LossFile& file(const ColumnKey& column) {
    const auto found = files_.find(column);
    if (found != files_.end()) return found->second;
    LossFile opened(directory_ / (column.name() + ".eval"));
    RETRO_CHECK(opened.description().grid_hash == inputs_.grid->hash(),
                "losses of {}: made from other chunks than these; run `retro eval` again",
                column.name());
    return files_.emplace(column, std::move(opened)).first->second;
  }

  Partition partition(const Cut& cut, const RowGroup& group) {
    const PartOf part_of = [&cut](int64_t row, int64_t index) { return cut.part(row, index); };
    Partition result{cut.name, cut.unit, group.source, {}};
    std::vector<std::vector<std::vector<PartSum>>> sums;  // system, part, document
    const auto columns = systems();
    for (const ColumnKey& column : columns) {
      sums.push_back(
          sum_parts(file(column), *inputs_.grid, group.rows, cut.starts.size(), part_of));
    }
    for (size_t p = 0; p < cut.starts.size(); ++p) {
      BreakdownPart part;
      part.from = cut.starts[p];
      part.to = p + 1 < cut.starts.size() ? cut.starts[p + 1] - 1 : -1;
      const PartSum whole = total(sums[0][p]);
      part.tokens = whole.tokens;
      part.bytes = whole.bytes;
      part.documents = std::count_if(sums[0][p].begin(), sums[0][p].end(),
                                     [](const PartSum& sum) { return sum.tokens > 0; });
      // As many tokens as the smallest row of chunks has.
      part.is_too_few = whole.tokens < config_.min_chunks * inputs_.grid->chunk_length();
      for (size_t s = 0; s < columns.size(); ++s) {
        part.nats.push_back(total(sums[s][p]).nats);
        part.systems.push_back({columns[s].name(), bits_per_byte(part.nats.back(), part.bytes),
                                paired_bootstrap(pair_losses(sums[0][p], sums[s][p]), options_)});
      }
      result.parts.push_back(std::move(part));
    }
    return result;
  }

  std::vector<WordFigures> words() {
    const auto words_of_row = words_of_rows(*inputs_.grid, *inputs_.tokenizer);
    std::vector<WordFigures> result;
    for (const RowGroup& group : groups_) {
      WordFigures figures{group.source, 0, {}};
      for (const int64_t row : group.rows) figures.words += words_of_row[static_cast<size_t>(row)];
      for (const ColumnKey& column : systems()) {
        double nats = 0;
        for (const int64_t row : group.rows) nats += file(column).nats(row);
        figures.systems.push_back(
            {column.name(), nats, std::exp(nats / static_cast<double>(figures.words))});
      }
      result.push_back(std::move(figures));
    }
    return result;
  }

  VariantRow variant_row(const RowGroup& group, double share, const ColumnKey& reference,
                         const std::vector<ColumnKey>& columns) {
    const ChunkLosses expected = chunk_losses(file(reference), *inputs_.grid);
    VariantRow row;
    row.source = group.source;
    row.share = share;
    row.chunks = static_cast<int64_t>(group.rows.size());
    row.bytes = sum_losses(expected, group.rows).bytes;
    row.is_too_few = row.chunks < config_.min_chunks;
    for (const ColumnKey& column : columns) {
      const ChunkLosses losses = chunk_losses(file(column), *inputs_.grid);
      row.systems.push_back({column.name(), sum_losses(losses, group.rows).bits_per_byte(),
                             loss_difference(facts_, expected, losses, group.rows, options_)});
    }
    return row;
  }

  void add_windows(const RowGroup& group, std::vector<VariantRow>& rows) {
    if (config_.windows.empty()) return;
    std::vector<double> overlaps = config_.windows;
    overlaps.insert(overlaps.begin(), config_.window_overlap);
    for (const double overlap : overlaps) {
      const std::string variant =
          overlap == config_.window_overlap ? "" : variant_name('w', overlap);
      const ColumnKey reference{reference_.kind, 0, 0, variant};
      std::vector<ColumnKey> columns;
      if (reference.kind != "off") columns.push_back(reference);
      columns.push_back({"off", 0, 0, variant});
      columns.push_back({"on", config_.neighbours.front(), 0, variant});
      rows.push_back(variant_row(group, overlap, reference, columns));
    }
  }

  void add_fractions(const RowGroup& group, std::vector<VariantRow>& rows) {
    if (inputs_.fractions.empty()) return;
    const int64_t k = config_.neighbours.front();
    for (const FractionInput& input : inputs_.fractions) {
      const ColumnKey on{"on", k, 0, variant_name('d', input.fraction)};
      rows.push_back(variant_row(group, input.fraction, reference_, {on}));
    }
    rows.push_back(variant_row(group, 1.0, reference_, {{"on", k, 0}}));
  }

  const EvalConfig& config_;
  const EvalInputs& inputs_;
  const std::filesystem::path& directory_;
  BootstrapOptions options_;
  ColumnKey reference_;
  ChunkFacts facts_;
  std::vector<RowGroup> groups_;
  std::map<ColumnKey, LossFile> files_;
};

}  // namespace

Breakdown break_down(const EvalConfig& config, const EvalInputs& inputs,
                     const std::filesystem::path& directory) {
  return BreakdownBuilder(config, inputs, directory).build();
}

}  // namespace retro
