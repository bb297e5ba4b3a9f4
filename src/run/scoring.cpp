#include "retro/run/scoring.h"

#include <cmath>
#include <numeric>
#include <sstream>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/eval/bits_per_byte.h"
#include "retro/text/utf8.h"

namespace retro {
namespace {

using nlohmann::json;

std::string token_text(const Tokenizer& tokenizer, int32_t token) {
  return replace_broken_utf8(tokenizer.decode({&token, 1}));
}

/// Sums of a chunk's tokens.
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
      sum.nats_on += score.scored.nats_on.empty() ? 0 : score.scored.nats_on[token];
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
  score.nats_on = sum(score.scored.nats_on);
  const auto bytes = static_cast<int64_t>(text.size());
  score.bits_per_byte_off = bits_per_byte(score.nats_off, bytes);
  score.bits_per_byte_on = score.scored.nats_on.empty() ? NAN : bits_per_byte(score.nats_on, bytes);
  return score;
}

std::string score_json(const TextScore& score, const Tokenizer& tokenizer) {
  const ScoredText& scored = score.scored;
  json tokens = json::array();
  for (size_t i = 0; i < scored.tokens.size(); ++i) {
    json token = {{"text", token_text(tokenizer, scored.tokens[i])},
                  {"bytes", score.bytes[i]},
                  {"nats_off", scored.nats_off[i]}};
    if (!scored.nats_on.empty()) token["nats_on"] = scored.nats_on[i];
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
    text += fmt::format("{:8.3f}{:8.3f}{:+8.3f}  {}\n", scored.nats_off[i], on,
                        scored.nats_off[i] - on, one_line(token_text(tokenizer, scored.tokens[i])));
  }
  text += "chunk  bits/byte off      on    gain  first neighbour it could read\n";
  const auto sums = chunk_sums(score);
  for (size_t c = 0; c < sums.size(); ++c) {
    const double off = bits_per_byte(sums[c].nats_off, sums[c].bytes);
    const double on = has_on ? bits_per_byte(sums[c].nats_on, sums[c].bytes) : NAN;
    const auto& neighbours = scored.chunks[c].neighbours;
    text +=
        fmt::format("{:5}{:15.4f}{:8.4f}{:+8.4f}  {}\n", c, off, on, off - on,
                    neighbours.empty() ? "-" : neighbours[0].source + " / " + neighbours[0].title);
  }
  return text + fmt::format("{} tokens: bits per byte off {:.4f}, on {:.4f}, gain {:+.4f}\n",
                            scored.tokens.size(), score.bits_per_byte_off, score.bits_per_byte_on,
                            score.bits_per_byte_off - score.bits_per_byte_on);
}

std::vector<std::string> read_passages(const std::string& path) {
  std::vector<std::string> passages;
  std::istringstream lines(read_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    if (!line.empty())
      passages.push_back(json_get<std::string>(parse_json(line, where), "text", where));
  }
  RETRO_CHECK(!passages.empty(), "{}: no passage in it", path);
  return passages;
}

std::string last_words_json(const std::vector<LastWord>& words) {
  const LastWordSummary summary = summarise_last_words(words);
  json list = json::array();
  for (const LastWord& word : words) {
    list.push_back({{"word", word.word},
                    {"nats_off", word.nats_off},
                    {"nats_on", word.nats_on},
                    {"is_right_off", word.is_right_off},
                    {"is_right_on", word.is_right_on}});
  }
  const json value = {
      {"format", "retro last words"},           {"version", 1},
      {"passages", summary.passages},           {"accuracy_off", summary.accuracy_off},
      {"accuracy_on", summary.accuracy_on},     {"perplexity_off", summary.perplexity_off},
      {"perplexity_on", summary.perplexity_on}, {"words", list}};
  return value.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace retro
