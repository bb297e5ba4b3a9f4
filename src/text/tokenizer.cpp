#include "retro/text/tokenizer.h"

#include "retro/core/error.h"
#include "retro/text/sentencepiece_tokenizer.h"

namespace retro {

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                          const std::string& end_of_document) {
  const auto extension = path.extension();
  RETRO_CHECK(
      extension != ".json" && extension != ".gguf",
      "{}: byte-level BPE tokenizers are not supported yet; give a SentencePiece .model file",
      path.string());
  return std::make_unique<SentencePieceTokenizer>(path, end_of_document);
}

}  // namespace retro
