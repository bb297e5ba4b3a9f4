// A SentencePiece model file out of the vocabulary of a GGUF file.
#pragma once

#include <string>

#include "retro/core/gguf_vocabulary.h"

namespace retro {

/// The serialised model of the vocabulary kind "llama": BPE by score with byte fallback and the
/// identity normalisation. A space put before the text is left out, as for other models. Throws
/// Error naming `name` for another kind, or where scores or types are missing.
std::string serialize_sentencepiece(const GgufVocabulary& vocabulary, const std::string& name);

}  // namespace retro
