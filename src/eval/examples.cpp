#include "retro/eval/examples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "retro/core/random.h"
#include "retro/eval/chunk_losses.h"
#include "retro/eval/overlap.h"
#include "retro/eval/row_groups.h"
#include "retro/text/common_run.h"

namespace retro {

namespace {

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

class ExampleBuilder {
 public:
  ExampleBuilder(const EvalConfig& config, const EvalInputs& inputs, const Tokenizer& tokenizer,
                 const std::filesystem::path& directory)
      : inputs_(inputs),
        tokenizer_(tokenizer),
        k_(config.neighbours.front()),
        off_(directory / (ColumnKey{"off", 0, 0}.name() + ".eval")),
        on_(directory / (ColumnKey{"on", k_, 0}.name() + ".eval")) {}

  /// Nats that retrieval saved on the chunk; NaN where it was not scored.
  double gain(int64_t row) const {
    return off_.is_scored(row) && on_.is_scored(row) ? off_.nats(row) - on_.nats(row) : kNoLoss;
  }

  /// False for chunks without anything to read: a document's first, and the first of a window (the
  /// lead chunk is slot 0, so row r is slot r + 1), whose chunk before stands in another window.
  bool can_read(int64_t row) const {
    const LossDescription& pass = on_.description();
    const int64_t chunks_per_window = pass.sequence_length / pass.chunk_length;
    const bool is_first = row == inputs_.grid->first_row(inputs_.grid->document_of_row(row));
    return !is_first && (pass.window_overlap > 0 || (row + 1) % chunks_per_window != 0);
  }

  ExampleChunk build(int64_t row) const {
    const ChunkGrid& grid = *inputs_.grid;
    const int64_t d = grid.document_of_row(row);
    const DocumentInfo& document = grid.corpus().document(grid.document(d));
    ExampleChunk example;
    example.source = document.source;
    example.document = document.id;
    example.title = document.title;
    example.chunk = row - grid.first_row(d);
    const auto grid_tokens = grid.tokens(row);
    const std::vector<int32_t> tokens(grid_tokens.begin(), grid_tokens.end());
    std::vector<int32_t> runs(tokens.size(), 0);
    if (can_read(row)) example.neighbours = neighbours(row - 1, tokens, runs);
    example.pieces = example_pieces(marked(row, tokens, runs), tokenizer_);
    return example;
  }

 private:
  std::vector<MarkedToken> marked(int64_t row, const std::vector<int32_t>& tokens,
                                  const std::vector<int32_t>& runs) const {
    std::vector<MarkedToken> result;
    for (size_t i = 0; i < tokens.size(); ++i) {
      result.push_back({tokens[i], runs[i], static_cast<double>(off_.token_nats(row)[i]),
                        static_cast<double>(on_.token_nats(row)[i])});
    }
    return result;
  }

  /// Neighbours of `row` compared with `tokens`, whose runs grow.
  std::vector<ExampleNeighbour> neighbours(int64_t row, const std::vector<int32_t>& tokens,
                                           std::vector<int32_t>& runs) const {
    const RetrievalDatabase& database = *inputs_.database;
    std::vector<ExampleNeighbour> result;
    RunMatcher matcher(tokens);
    for (int64_t rank = 0; rank < k_; ++rank) {
      const int64_t id = inputs_.table->ids(row)[static_cast<size_t>(rank)];
      if (id == kMissing) break;
      std::vector<int32_t> value_R(static_cast<size_t>(2 * database.chunk_length()));
      std::vector<int32_t> value_runs(value_R.size());
      database.copy_value(id, value_R);
      matcher.mark_runs(value_R, runs, value_runs);
      const DatabaseDocument& document = database.document(database.document_of(id));
      ExampleNeighbour neighbour{document.source, document.id, document.title, id, 0, {}, {}};
      neighbour.distance =
          static_cast<double>(inputs_.table->distances(row)[static_cast<size_t>(rank)]);
      neighbour.chunk = value_pieces(value_R, value_runs, 0, tokenizer_);
      neighbour.continuation = value_pieces(value_R, value_runs, value_R.size() / 2, tokenizer_);
      result.push_back(std::move(neighbour));
    }
    return result;
  }

  const EvalInputs& inputs_;
  const Tokenizer& tokenizer_;
  int64_t k_;
  LossFile off_;
  LossFile on_;
};

/// Rows that had neighbours to read, by falling gain.
std::vector<int64_t> rows_by_gain(const ExampleBuilder& builder, const RowGroup& group) {
  std::vector<std::pair<double, int64_t>> order;
  for (const int64_t row : group.rows) {
    const double gain = builder.gain(row);
    if (!std::isnan(gain) && builder.can_read(row)) order.emplace_back(-gain, row);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> rows;
  for (const auto& [negative_gain, row] : order) rows.push_back(row);
  return rows;
}

/// A third from the front, a third from the back, the rest drawn from between.
std::vector<int64_t> choose_rows(const std::vector<int64_t>& rows, int64_t count,
                                 RandomStream random) {
  const auto total = static_cast<int64_t>(rows.size());
  if (total <= count) return rows;
  const int64_t ends = count / 3;
  std::vector<int64_t> chosen(rows.begin(), rows.begin() + ends);
  for (const int64_t between :
       sample_without_replacement(total - 2 * ends, count - 2 * ends, random)) {
    chosen.push_back(rows[static_cast<size_t>(ends + between)]);
  }
  chosen.insert(chosen.end(), rows.end() - ends, rows.end());
  return chosen;
}

constexpr size_t kFewestChunks = 3;  // of a document worth reading as a whole

/// Every scored row of `count` documents of the group.
std::vector<int64_t> document_rows(const ExampleBuilder& builder, const RowGroup& group,
                                   const ChunkGrid& grid, int64_t count, RandomStream random) {
  std::map<int64_t, std::vector<int64_t>> by_document;
  for (const int64_t row : group.rows) {
    if (!std::isnan(builder.gain(row))) by_document[grid.document_of_row(row)].push_back(row);
  }
  std::erase_if(by_document, [](const auto& entry) { return entry.second.size() < kFewestChunks; });
  std::vector<int64_t> documents;
  for (const auto& [document, rows] : by_document) documents.push_back(document);
  std::vector<int64_t> chosen;
  const auto total = static_cast<int64_t>(documents.size());
  for (const int64_t place : sample_without_replacement(total, std::min(total, count), random)) {
    const auto& rows = by_document.at(documents[static_cast<size_t>(place)]);
    chosen.insert(chosen.end(), rows.begin(), rows.end());
  }
  return chosen;
}

}  // namespace

std::vector<ExampleChunk> example_chunks(const EvalConfig& config, const EvalInputs& inputs,
                                         const Tokenizer& tokenizer,
                                         const std::filesystem::path& directory) {
  const ExampleBuilder builder(config, inputs, tokenizer, directory);
  std::vector<ExampleChunk> examples;
  for (const RowGroup& group :
       row_groups(*inputs.grid, config.breakdown, config.max_chunks_per_document)) {
    if (group.source == "all") continue;
    const auto rows = rows_by_gain(builder, group);
    const RandomStream random(static_cast<uint64_t>(config.seed),
                              "examples/" + group.source + "/" + group.part);
    std::vector<int64_t> chosen = choose_rows(rows, config.examples, random);
    if (group.part.empty()) {
      const RandomStream draw(static_cast<uint64_t>(config.seed), "documents/" + group.source);
      const auto whole = document_rows(builder, group, *inputs.grid, config.documents, draw);
      chosen.insert(chosen.end(), whole.begin(), whole.end());
    }
    for (const int64_t row : chosen) {
      ExampleChunk example = builder.build(row);
      example.part = group.part;
      example.overlap = chunk_overlap(*inputs.grid, *inputs.table, *inputs.database, row,
                                      config.overlap_neighbours)
                            .ratio();
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

}  // namespace retro
