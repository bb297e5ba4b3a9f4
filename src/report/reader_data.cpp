#include "reader_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace retro {
namespace {

constexpr int kShortestRun = 3;  // shorter runs are chance: "of the", ", and"

/// Tokens that the piece joins (one in older files): bytes of one character, in most cases.
int tokens_of(const Json& piece) {
  const double count = number_at(piece, "num_tokens");
  return count >= 1 ? static_cast<int>(count) : 1;
}

/// Of each piece the length, in tokens, of the longest run it stands in; `run` counts the tokens up
/// to the piece it ends at.
std::vector<int> covering_runs(const Json& pieces) {
  std::vector<int> covering(pieces.size(), 0);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const double run = number_at(pieces[i], "run");
    const int length = std::isfinite(run) ? static_cast<int>(run) : 0;
    if (length < kShortestRun) continue;
    int left = length;
    for (size_t piece = i + 1; piece > 0 && left > 0; --piece) {
      covering[piece - 1] = std::max(covering[piece - 1], length);
      left -= tokens_of(pieces[piece - 1]);
    }
  }
  return covering;
}

Json thousandths(double nats) {
  return std::isfinite(nats) ? Json(static_cast<int64_t>(std::lround(1000 * nats))) : Json{};
}

Json stretches(const Json& pieces) {
  const std::vector<int> runs = covering_runs(pieces);
  Json result = Json::array();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string text = text_at(pieces[i], "text");
    if (i > 0 && runs[i] == runs[i - 1]) {
      result.back()[0] = result.back()[0].get<std::string>() + text;
    } else {
      result.push_back(Json::array({text, runs[i]}));
    }
  }
  return result;
}

Json neighbour_json(const Json& neighbour) {
  return {{"source", text_at(neighbour, "source")},
          {"title", text_at(neighbour, "title")},
          {"distance", number_at(neighbour, "distance")},
          {"text", stretches(list_at(neighbour, "chunk"))},
          {"next", stretches(list_at(neighbour, "continuation"))}};
}

Json chunk_json(const Json& example) {
  const Json& pieces = list_at(example, "pieces");
  Json text = Json::array(), saved = Json::array(), off = Json::array();
  for (const Json& piece : pieces) {
    const double nats_off = number_at(piece, "nats_off");
    text.push_back(text_at(piece, "text"));
    saved.push_back(thousandths(nats_off - number_at(piece, "nats_on")));
    off.push_back(thousandths(nats_off));
  }
  Json neighbours = Json::array();
  for (const Json& neighbour : list_at(example, "neighbours"))
    neighbours.push_back(neighbour_json(neighbour));
  return {{"n", example.value("chunk", 0)},
          {"overlap", number_at(example, "overlap")},
          {"text", text},
          {"saved", saved},
          {"off", off},
          {"run", covering_runs(pieces)},
          {"neighbours", neighbours}};
}

struct ReaderDocument {
  std::string source, part, title, id;
  std::map<int64_t, Json> chunks;  ///< in reading order, each once
};

/// In the order in which they first appear.
std::vector<ReaderDocument> documents_of(const Json& examples) {
  std::vector<ReaderDocument> documents;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const Json& example : list_at(examples, "examples")) {
    const std::string source = text_at(example, "source"), id = text_at(example, "document");
    const auto [place, is_new] = places.try_emplace({source, id}, documents.size());
    if (is_new) documents.push_back({source, "", text_at(example, "title"), id, {}});
    ReaderDocument& document = documents[place->second];
    if (document.part.empty()) document.part = text_at(example, "part");
    const int64_t number = example.value("chunk", int64_t{0});
    if (!document.chunks.contains(number)) document.chunks[number] = chunk_json(example);
  }
  return documents;
}

}  // namespace

Json reader_data(const Json& examples) {
  Json list = Json::array();
  for (ReaderDocument& document : documents_of(examples)) {
    Json chunks = Json::array();
    for (auto& [number, chunk] : document.chunks) chunks.push_back(std::move(chunk));
    list.push_back({{"source", document.source},
                    {"part", document.part},
                    {"title", document.title.empty() ? document.id : document.title},
                    {"id", document.id},
                    {"chunks", std::move(chunks)}});
  }
  return {{"documents", std::move(list)}};
}

}  // namespace retro
