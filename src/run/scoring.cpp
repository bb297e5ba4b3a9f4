#include "retro/run/scoring.h"

#include <cmath>
#include <numeric>
#include <sstream>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/utf8.h"
#include "retro/eval/bits_per_byte.h"

namespace retro {
namespace {

using nlohmann::json;

std::string token_text(const Tokenizer& tokenizer, int32_t token) {
  return replace_broken_utf8(tokenizer.decode({&token, 1}));
}

/// Sums of a chunk's tokens; NaN where they were not scored.
struct ChunkSum {
  size_t first = 0;
  double nats_off = 0, nats_on = 0;
  int64_t bytes = 0;
};

std::vector<ChunkSum> chunk_sums(const TextScore& score) {
  std::vector<ChunkSum> sums;
  size_t token = 0;
  for (const ChunkView& chunk : score.scored.chunks) {
    ChunkSum sum{token, 0, 0, 0};
    for (size_t i = 0; i < chunk.tokens.size(); ++i, ++token) {
      sum.nats_off += score.scored.nats_off[token];
      sum.nats_on += score.scored.nats_on.empty() ? NAN : score.scored.nats_on[token];
      sum.bytes += score.bytes[token];
    }
    sums.push_back(sum);
  }
  return sums;
}

json chunk_json(const ChunkView& chunk, const ChunkSum& sum, const Tokenizer& tokenizer) {
  json neighbours = json::array();
  for (const FetchedNeighbour& neighbour : chunk.neighbours) {
    std::vector<int32_t> value;
    for (const int32_t token : neighbour.value_R) {
      if (token >= 0) value.push_back(token);
    }
    neighbours.push_back({{"source", neighbour.source},
                          {"document", neighbour.document},
                          {"title", neighbour.title},
                          {"distance", neighbour.distance},
                          {"text", replace_broken_utf8(tokenizer.decode(value))}});
  }
  return {{"chunk", chunk.chunk},    {"first_token", sum.first}, {"nats_off", sum.nats_off},
          {"nats_on", sum.nats_on},  {"bytes", sum.bytes},       {"runs", chunk.token_runs},
          {"neighbours", neighbours}};
}

std::string one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\n' || letter == '\t') letter = ' ';
  }
  return text;
}

/// "-" where nothing was scored.
std::string figure_text(double value, int decimals) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, decimals);
}

std::string gain_of(double off, double on, int decimals) {
  return std::isnan(on) ? "-" : fmt::format("{:+.{}f}", off - on, decimals);
}

}  // namespace

TextScore score_whole_text(RetroModel& model, const GeneratorOptions& options,
                           const std::string& text) {
  RETRO_CHECK(!text.empty(), "score: the text is empty");
  const EncodedText encoded = options.tokenizer->encode(text);
  TextScore score;
  score.scored = score_text(model, options, encoded.ids);
  score.bytes = encoded.bytes;
  const auto sum = [](const std::vector<double>& nats) {
    return std::accumulate(nats.begin(), nats.end(), 0.0);
  };
  score.nats_off = sum(score.scored.nats_off);
  score.nats_on = score.scored.nats_on.empty() ? NAN : sum(score.scored.nats_on);
  const auto bytes = static_cast<int64_t>(text.size());
  score.bits_per_byte_off = bits_per_byte(score.nats_off, bytes);
  score.bits_per_byte_on = bits_per_byte(score.nats_on, bytes);
  return score;
}

std::string score_json(const TextScore& score, const Tokenizer& tokenizer) {
  const ScoredText& scored = score.scored;
  json tokens = json::array();
  for (size_t i = 0; i < scored.tokens.size(); ++i) {
    json token = {{"text", token_text(tokenizer, scored.tokens[i])},
                  {"bytes", score.bytes[i]},
                  {"nats_off", scored.nats_off[i]},
                  {"nats_on", scored.nats_on.empty() ? NAN : scored.nats_on[i]}};  // NaN is null
    tokens.push_back(std::move(token));
  }
  json chunks = json::array();
  const auto sums = chunk_sums(score);
  for (size_t c = 0; c < scored.chunks.size(); ++c)
    chunks.push_back(chunk_json(scored.chunks[c], sums[c], tokenizer));
  const json value = {{"format", "retro score"},
                      {"version", 1},
                      {"nats_off", score.nats_off},
                      {"nats_on", score.nats_on},
                      {"bits_per_byte_off", score.bits_per_byte_off},
                      {"bits_per_byte_on", score.bits_per_byte_on},
                      {"tokens", tokens},
                      {"chunks", chunks}};
  return value.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string format_score(const TextScore& score, const Tokenizer& tokenizer, bool has_tokens) {
  const ScoredText& scored = score.scored;
  const bool has_on = !scored.nats_on.empty();
  std::string text;
  if (has_tokens) text += "     off      on  off-on  token\n";
  for (size_t i = 0; has_tokens && i < scored.tokens.size(); ++i) {
    const double on = has_on ? scored.nats_on[i] : NAN;
    text += fmt::format("{:8.3f}{:>8}{:>8}  {}\n", scored.nats_off[i], figure_text(on, 3),
                        gain_of(scored.nats_off[i], on, 3),
                        one_line(token_text(tokenizer, scored.tokens[i])));
  }
  text += "chunk  bits/byte off      on    gain  first neighbour it could read\n";
  const auto sums = chunk_sums(score);
  for (size_t c = 0; c < sums.size(); ++c) {
    const double off = bits_per_byte(sums[c].nats_off, sums[c].bytes);
    const double on = bits_per_byte(sums[c].nats_on, sums[c].bytes);
    const auto& neighbours = scored.chunks[c].neighbours;
    text +=
        fmt::format("{:5}{:15.4f}{:>8}{:>8}  {}\n", c, off, figure_text(on, 4), gain_of(off, on, 4),
                    neighbours.empty() ? "-" : neighbours[0].source + " / " + neighbours[0].title);
  }
  return text + fmt::format("{} tokens: bits per byte off {:.4f}, on {}, gain {}\n",
                            scored.tokens.size(), score.bits_per_byte_off,
                            figure_text(score.bits_per_byte_on, 4),
                            gain_of(score.bits_per_byte_off, score.bits_per_byte_on, 4));
}

}  // namespace retro
