// The tokenizer that a GGUF file carries, as its metadata stores it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/core/gguf.h"

namespace retro {

/// Lists are empty and ids -1 where the file does not have them.
struct GgufVocabulary {
  std::string model;          ///< "gpt2": byte-level BPE; "llama": SentencePiece; others
  std::string pre_tokenizer;  ///< "gpt-2", "llama-bpe", "smollm", ...
  std::vector<std::string> pieces;
  std::vector<std::string> merges;  ///< "left right", best first
  std::vector<float> scores;
  std::vector<int32_t> types;  ///< 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  int32_t begin_id = -1;
  int32_t end_id = -1;
  int32_t unknown_id = -1;
  int32_t padding_id = -1;
};

/// Throws Error naming the file and the key: no vocabulary, lists of different lengths, ids
/// outside.
GgufVocabulary read_gguf_vocabulary(const GgufReader& file);

}  // namespace retro
