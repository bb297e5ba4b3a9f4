#include "retro/core/gguf_vocabulary.h"

#include "retro/core/json.h"

namespace retro {
namespace {

constexpr const char* kPrefix = "tokenizer.ggml.";

template <class T>
T value_or(const GgufReader& file, const char* key, T fallback) {
  return json_get_or<T>(file.metadata(), std::string(kPrefix) + key, std::move(fallback),
                        file.path().string());
}

int32_t id_or_none(const GgufReader& file, const char* key, size_t num_pieces) {
  const auto id = value_or<int64_t>(file, key, -1);
  // llama.cpp writes 2^32 - 1 for "none".
  if (id == 0xFFFFFFFF) return -1;
  RETRO_CHECK(id >= -1 && id < static_cast<int64_t>(num_pieces),
              "{}: `{}{}` is {}, the vocabulary has {} pieces", file.path().string(), kPrefix, key,
              id, num_pieces);
  return static_cast<int32_t>(id);
}

void check_length(const GgufReader& file, const char* key, size_t length, size_t num_pieces) {
  RETRO_CHECK(length == 0 || length == num_pieces, "{}: `{}{}` has {} entries for {} pieces",
              file.path().string(), kPrefix, key, length, num_pieces);
}

}  // namespace

GgufVocabulary read_gguf_vocabulary(const GgufReader& file) {
  GgufVocabulary vocabulary;
  vocabulary.model = value_or<std::string>(file, "model", "");
  RETRO_CHECK(!vocabulary.model.empty(), "{}: has no tokenizer (`tokenizer.ggml.model` is missing)",
              file.path().string());
  vocabulary.pre_tokenizer = value_or<std::string>(file, "pre", "");
  vocabulary.pieces = value_or<std::vector<std::string>>(file, "tokens", {});
  RETRO_CHECK(!vocabulary.pieces.empty(), "{}: `tokenizer.ggml.tokens` is missing or empty",
              file.path().string());
  vocabulary.merges = value_or<std::vector<std::string>>(file, "merges", {});
  vocabulary.scores = value_or<std::vector<float>>(file, "scores", {});
  vocabulary.types = value_or<std::vector<int32_t>>(file, "token_type", {});
  const size_t num_pieces = vocabulary.pieces.size();
  check_length(file, "scores", vocabulary.scores.size(), num_pieces);
  check_length(file, "token_type", vocabulary.types.size(), num_pieces);
  vocabulary.begin_id = id_or_none(file, "bos_token_id", num_pieces);
  vocabulary.end_id = id_or_none(file, "eos_token_id", num_pieces);
  vocabulary.unknown_id = id_or_none(file, "unknown_token_id", num_pieces);
  vocabulary.padding_id = id_or_none(file, "padding_token_id", num_pieces);
  return vocabulary;
}

}  // namespace retro
