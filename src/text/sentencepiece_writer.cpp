// Field numbers: sentencepiece_model.proto of github.com/google/sentencepiece.
#include "sentencepiece_writer.h"

#include <cstring>

#include "retro/core/error.h"

namespace retro {
namespace {

/// A protobuf message being written.
class Message {
 public:
  void add_number(uint32_t field, uint64_t value) {
    add_varint(uint64_t{field} << 3);
    add_varint(value);
  }
  void add_float(uint32_t field, float value) {
    add_varint(uint64_t{field} << 3 | 5);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
  }
  void add_text(uint32_t field, const std::string& value) {
    add_varint(uint64_t{field} << 3 | 2);
    add_varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

/// A special token's id, and its text: the library finds ids by text.
void add_role(Message& message, uint32_t id_field, uint32_t text_field, int32_t id,
              const GgufVocabulary& vocabulary) {
  message.add_number(id_field, static_cast<uint64_t>(int64_t{id}));  // -1 is ten bytes long
  if (id >= 0) message.add_text(text_field, vocabulary.pieces[static_cast<size_t>(id)]);
}

std::string trainer_spec(const GgufVocabulary& vocabulary) {
  constexpr uint64_t kBpe = 2;
  Message message;
  message.add_number(3, kBpe);
  message.add_number(4, vocabulary.pieces.size());
  message.add_number(35, 1);  // byte fallback
  add_role(message, 40, 45, vocabulary.unknown_id, vocabulary);
  add_role(message, 41, 46, vocabulary.begin_id, vocabulary);
  add_role(message, 42, 47, vocabulary.end_id, vocabulary);
  add_role(message, 43, 48, vocabulary.padding_id, vocabulary);
  return message.bytes();
}

std::string normalizer_spec() {
  Message message;
  message.add_text(1, "identity");
  message.add_number(3, 0);  // dummy prefix
  message.add_number(4, 0);  // extra spaces removed
  message.add_number(5, 1);  // spaces written as U+2581
  return message.bytes();
}

}  // namespace

std::string serialize_sentencepiece(const GgufVocabulary& vocabulary, const std::string& name) {
  RETRO_CHECK(vocabulary.model == "llama",
              "{}: its tokenizer is of kind `{}`; known are `gpt2` (byte-level BPE) and `llama` "
              "(SentencePiece)",
              name, vocabulary.model);
  RETRO_CHECK(!vocabulary.scores.empty() && !vocabulary.types.empty(),
              "{}: its SentencePiece vocabulary lacks `tokenizer.ggml.scores` or "
              "`tokenizer.ggml.token_type`",
              name);
  Message model;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    Message piece;
    piece.add_text(1, vocabulary.pieces[id]);
    piece.add_float(2, vocabulary.scores[id]);
    piece.add_number(3, static_cast<uint64_t>(vocabulary.types[id]));
    model.add_text(1, piece.bytes());
  }
  model.add_text(2, trainer_spec(vocabulary));
  model.add_text(3, normalizer_spec());
  return model.bytes();
}

}  // namespace retro
