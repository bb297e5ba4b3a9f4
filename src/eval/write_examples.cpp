#include "retro/core/json.h"
#include "retro/eval/examples.h"

namespace retro {

namespace {

nlohmann::json pieces_json(const std::vector<ExamplePiece>& pieces) {
  nlohmann::json list = nlohmann::json::array();
  for (const ExamplePiece& piece : pieces) {
    list.push_back({{"text", piece.text},
                    {"num_tokens", piece.num_tokens},
                    {"run", piece.run},
                    {"nats_off", piece.nats_off},
                    {"nats_on", piece.nats_on}});
  }
  return list;
}

nlohmann::json example_json(const ExampleChunk& example) {
  nlohmann::json neighbours = nlohmann::json::array();
  for (const ExampleNeighbour& neighbour : example.neighbours) {
    neighbours.push_back({{"source", neighbour.source},
                          {"document", neighbour.document},
                          {"title", neighbour.title},
                          {"chunk_id", neighbour.chunk_id},
                          {"distance", neighbour.distance},
                          {"chunk", pieces_json(neighbour.chunk)},
                          {"continuation", pieces_json(neighbour.continuation)}});
  }
  return {{"source", example.source},
          {"part", example.part},
          {"document", example.document},
          {"title", example.title},
          {"chunk", example.chunk},
          {"overlap", example.overlap},
          {"pieces", pieces_json(example.pieces)},
          {"neighbours", neighbours}};
}

}  // namespace

nlohmann::json examples_json(const std::vector<ExampleChunk>& examples) {
  nlohmann::json list = nlohmann::json::array();
  for (const ExampleChunk& example : examples) list.push_back(example_json(example));
  return {{"examples", list}};
}

void write_examples(const std::vector<ExampleChunk>& examples, const std::filesystem::path& path) {
  write_json_file(path, examples_json(examples));
}

}  // namespace retro
