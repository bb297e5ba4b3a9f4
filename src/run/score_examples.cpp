#include <cmath>

#include "retro/run/scoring.h"

namespace retro {
namespace {

ExampleNeighbour example_neighbour(const FetchedNeighbour& neighbour,
                                   const std::vector<int32_t>& runs, const Tokenizer& tokenizer) {
  ExampleNeighbour example{neighbour.source,
                           neighbour.document,
                           neighbour.title,
                           neighbour.chunk_id,
                           static_cast<double>(neighbour.distance),
                           {},
                           {}};
  example.chunk = value_pieces(neighbour.value_R, runs, 0, tokenizer);
  example.continuation =
      value_pieces(neighbour.value_R, runs, neighbour.value_R.size() / 2, tokenizer);
  return example;
}

}  // namespace

std::vector<ExampleChunk> score_examples(const TextScore& score, const Tokenizer& tokenizer,
                                         const std::string& title) {
  const ScoredText& scored = score.scored;
  std::vector<ExampleChunk> examples;
  size_t token = 0;
  for (const ChunkView& chunk : scored.chunks) {
    std::vector<MarkedToken> tokens;
    for (size_t i = 0; i < chunk.tokens.size(); ++i, ++token) {
      tokens.push_back({chunk.tokens[i], chunk.token_runs[i], scored.nats_off[token],
                        scored.nats_on.empty() ? NAN : scored.nats_on[token]});
    }
    ExampleChunk example;
    example.source = "text";
    example.document = title;
    example.title = title;
    example.chunk = chunk.chunk;
    example.overlap = NAN;
    example.pieces = example_pieces(tokens, tokenizer);
    for (size_t n = 0; n < chunk.neighbours.size(); ++n)
      example.neighbours.push_back(
          example_neighbour(chunk.neighbours[n], chunk.neighbour_runs[n], tokenizer));
    examples.push_back(std::move(example));
  }
  return examples;
}

TextPage score_page(const TextScore& score, const Tokenizer& tokenizer, const std::string& title,
                    const std::string& model) {
  TextPage page;
  page.title = title;
  page.model = model;
  page.examples = examples_json(score_examples(score, tokenizer, title));
  page.num_tokens = static_cast<int64_t>(score.scored.tokens.size());
  page.bits_per_byte_off = score.bits_per_byte_off;
  page.bits_per_byte_on = score.bits_per_byte_on;
  return page;
}

}  // namespace retro
