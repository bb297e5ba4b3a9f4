#include "retro/text/byte_bpe_tokenizer.h"

#include <atomic>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/utf8.h"

#include "byte_bpe_vocabulary.h"
#include "pair_merger.h"
#include "word_cutter.h"

namespace retro {
namespace {

using Type = ByteBpeModel::Type;

std::string identity_of(const ByteBpeModel& model, int32_t end_of_document) {
  Hasher hasher;
  for (const auto& [text, type] : model.pieces) hasher.add(text).add(static_cast<int64_t>(type));
  for (const auto& [left, right] : model.merges) hasher.add(left).add(right);
  hasher.add(static_cast<int64_t>(model.pre_tokenizer.pattern));
  hasher.add(static_cast<int64_t>(model.pre_tokenizer.isolates_digits));
  hasher.add(model.pre_tokenizer.longest_number);
  hasher.add(static_cast<int64_t>(model.prefers_whole_words));
  return fmt::format("byte-bpe:{}:{}", hasher.hex(), end_of_document);
}

void check_utf8(std::string_view text) {
  const int64_t invalid = first_invalid_utf8(text);
  RETRO_CHECK(invalid < 0, "text is not valid UTF-8 at byte {}", invalid);
}

}  // namespace

struct ByteBpeTokenizer::Impl {
  /// What is known of a piece met as a whole word.
  enum class WholeWord : uint8_t { kUntried, kMergesToItself, kMergesOtherwise };

  ByteBpeModel model;
  ByteBpeVocabulary vocabulary;
  int32_t end_of_document;
  std::string identity;
  /// Filled as words come: whether a piece's own bytes merge to it. Every thread writes the same.
  mutable std::vector<std::atomic<WholeWord>> whole_words;

  Impl(ByteBpeModel wanted, const std::string& wanted_end);
  int32_t choose_end_of_document(const std::string& wanted) const;

  EncodedText encode(std::string_view text, const AddedTokens& matched) const;
  void encode_words(std::string_view text, size_t offset, EncodedText& encoded) const;
  void encode_word(std::string_view word, size_t offset, std::vector<int32_t>& ids) const;
  bool is_whole_word(std::string_view word, int32_t id, size_t offset,
                     std::vector<int32_t>& ids) const;
  void split_bytes(std::string_view word, size_t offset, std::vector<int32_t>& ids) const;
  const std::string& text_of(int32_t id) const;
};

ByteBpeTokenizer::Impl::Impl(ByteBpeModel wanted, const std::string& wanted_end)
    : model(std::move(wanted)),
      vocabulary(model),
      end_of_document(choose_end_of_document(wanted_end)),
      identity(identity_of(model, end_of_document)),
      whole_words(model.pieces.size()) {}

int32_t ByteBpeTokenizer::Impl::choose_end_of_document(const std::string& wanted) const {
  const std::string name = wanted.empty() ? std::string(kUsualSeparator) : wanted;
  int32_t id = find_id(vocabulary.ids_by_piece, name);
  if (id < 0 && wanted.empty()) {
    RETRO_CHECK(model.end_id >= 0,
                "{}: has no end-of-sequence token; name one with tokenizer.end_of_document",
                model.name);
    id = model.end_id;
  }
  RETRO_CHECK(id >= 0, "{}: tokenizer.end_of_document '{}' is not a token of this model",
              model.name, wanted);
  const auto index = static_cast<size_t>(id);
  RETRO_CHECK(index < model.pieces.size() && model.pieces[index].type != Type::kAbsent,
              "{}: its end-of-sequence token {} is outside the vocabulary of {}", model.name, id,
              model.pieces.size());
  RETRO_CHECK(model.pieces[index].type == Type::kSpecial,
              "{}: tokenizer.end_of_document '{}' is an ordinary token; expected a special one",
              model.name, model.pieces[index].text);
  return id;
}

EncodedText ByteBpeTokenizer::Impl::encode(std::string_view text,
                                           const AddedTokens& matched) const {
  EncodedText encoded;
  encoded.ids.reserve(text.size() / 4);
  encoded.bytes.reserve(text.size() / 4);
  size_t begin = 0;
  while (!matched.empty()) {
    const auto match = matched.find(text.substr(begin));
    if (!match) break;
    encode_words(text.substr(begin, match->offset), begin, encoded);
    encoded.ids.push_back(match->id);
    encoded.bytes.push_back(static_cast<uint16_t>(match->length));
    begin += match->offset + match->length;
  }
  encode_words(text.substr(begin), begin, encoded);
  return encoded;
}

/// `offset`: of `text` in the whole, for messages.
void ByteBpeTokenizer::Impl::encode_words(std::string_view text, size_t offset,
                                          EncodedText& encoded) const {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    const size_t length = first_word(text, model.pre_tokenizer);
    encode_word(text.substr(0, length), offset, ids);
    for (const int32_t id : ids) {
      encoded.ids.push_back(id);
      encoded.bytes.push_back(
          static_cast<uint16_t>(vocabulary.texts[static_cast<size_t>(id)].size()));
    }
    text.remove_prefix(length);
    offset += length;
  }
}

void ByteBpeTokenizer::Impl::encode_word(std::string_view word, size_t offset,
                                         std::vector<int32_t>& ids) const {
  const int32_t id = find_id(vocabulary.words, word);
  if (id >= 0 && (model.prefers_whole_words || is_whole_word(word, id, offset, ids))) {
    ids.assign(1, id);
    return;
  }
  split_bytes(word, offset, ids);
  merge_pairs(vocabulary.merges, ids);
}

bool ByteBpeTokenizer::Impl::is_whole_word(std::string_view word, int32_t id, size_t offset,
                                           std::vector<int32_t>& ids) const {
  std::atomic<WholeWord>& state = whole_words[static_cast<size_t>(id)];
  WholeWord known = state.load(std::memory_order_relaxed);
  if (known == WholeWord::kUntried) {
    split_bytes(word, offset, ids);
    merge_pairs(vocabulary.merges, ids);
    known =
        ids.size() == 1 && ids[0] == id ? WholeWord::kMergesToItself : WholeWord::kMergesOtherwise;
    state.store(known, std::memory_order_relaxed);
  }
  return known == WholeWord::kMergesToItself;
}

void ByteBpeTokenizer::Impl::split_bytes(std::string_view word, size_t offset,
                                         std::vector<int32_t>& ids) const {
  ids.clear();
  for (const char byte : word) {
    const auto value = static_cast<unsigned char>(byte);
    RETRO_CHECK(vocabulary.byte_ids[value] >= 0,
                "{}: the vocabulary has no token for byte {:02X}, which the text has at byte {}",
                model.name, value, offset + ids.size());
    ids.push_back(vocabulary.byte_ids[value]);
  }
}

const std::string& ByteBpeTokenizer::Impl::text_of(int32_t id) const {
  RETRO_CHECK(id >= 0 && static_cast<size_t>(id) < vocabulary.texts.size(),
              "token id {} is outside the vocabulary of {}", id, vocabulary.texts.size());
  return vocabulary.texts[static_cast<size_t>(id)];
}

ByteBpeTokenizer::ByteBpeTokenizer(ByteBpeModel model, const std::string& end_of_document)
    : impl_(std::make_unique<Impl>(std::move(model), end_of_document)) {}

ByteBpeTokenizer::~ByteBpeTokenizer() = default;

EncodedText ByteBpeTokenizer::encode(std::string_view text) const {
  check_utf8(text);
  return impl_->encode(text, impl_->vocabulary.added);
}

EncodedText ByteBpeTokenizer::encode_bytes(std::string_view bytes) const {
  return impl_->encode(bytes, impl_->vocabulary.added);
}

EncodedText ByteBpeTokenizer::encode_with_special(std::string_view text) const {
  check_utf8(text);
  return impl_->encode(text, impl_->vocabulary.added_and_special);
}

std::string ByteBpeTokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += impl_->text_of(id);
  return text;
}

int64_t ByteBpeTokenizer::vocabulary_size() const {
  return static_cast<int64_t>(impl_->model.pieces.size());
}

int32_t ByteBpeTokenizer::end_of_document() const { return impl_->end_of_document; }

std::string ByteBpeTokenizer::piece(int32_t id) const {
  (void)impl_->text_of(id);
  return impl_->model.pieces[static_cast<size_t>(id)].text;
}

std::string ByteBpeTokenizer::identity() const { return impl_->identity; }

int32_t ByteBpeTokenizer::find_piece(std::string_view piece) const {
  return find_id(impl_->vocabulary.ids_by_piece, piece);
}

const ByteBpeModel& ByteBpeTokenizer::model() const { return impl_->model; }

}  // namespace retro
