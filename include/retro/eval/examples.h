// Chunks to look at: text, neighbours, common runs and what retrieval changed, token by token (the
// report's browser).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/core/json.h"
#include "retro/eval/evaluation.h"
#include "retro/eval/example_pieces.h"
#include "retro/text/tokenizer.h"

namespace retro {

struct ExampleNeighbour {
  std::string source, document, title;
  int64_t chunk_id = -1;
  double distance = 0;
  std::vector<ExamplePiece> chunk;         ///< N
  std::vector<ExamplePiece> continuation;  ///< F
};

/// Chunk u and the neighbours it could read: those of chunk u-1 ([R]'s own colouring). `overlap` is
/// r(C) of its own; NaN: not computed.
struct ExampleChunk {
  std::string source, part, document, title;
  int64_t chunk = 0;
  double overlap = 0;
  std::vector<ExamplePiece> pieces;
  std::vector<ExampleNeighbour> neighbours;
};

/// config.examples chunks of every source and part (a third where retrieval helped most, a third
/// where it hurt most, the rest drawn by seed), then every scored chunk of config.documents
/// documents of each source, drawn by seed. A chunk that could read nothing has no neighbours.
/// Needs the passes off and on (headline k).
std::vector<ExampleChunk> example_chunks(const EvalConfig& config, const EvalInputs& inputs,
                                         const Tokenizer& tokenizer,
                                         const std::filesystem::path& directory);

/// {"examples": [ ... ]} with the members' names as keys.
nlohmann::json examples_json(const std::vector<ExampleChunk>& examples);
void write_examples(const std::vector<ExampleChunk>& examples, const std::filesystem::path& path);

}  // namespace retro
