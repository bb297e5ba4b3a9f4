#include "retro/text/sentencepiece_tokenizer.h"

#include <array>
#include <limits>
#include <optional>

#include <sentencepiece_processor.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/utf8.h"

#include "segment_cutter.h"
#include "sentencepiece_model.h"

namespace retro {
namespace {

/// The text a normal piece stands for: U+2581 is a space.
std::string text_of_piece(std::string_view piece) {
  std::string text;
  for (size_t i = 0; i < piece.size();) {
    const bool is_space = piece.substr(i).starts_with(kSpaceSymbol);
    text.push_back(is_space ? ' ' : piece[i]);
    i += is_space ? kSpaceSymbol.size() : 1;
  }
  return text;
}

/// The byte of a piece "<0xE2>".
char byte_of_piece(const std::string& piece, const std::string& name) {
  const bool is_byte = piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>') &&
                       piece.find_first_not_of("0123456789ABCDEF", 3) == 5;
  RETRO_CHECK(is_byte, "{}: byte piece '{}' is not of the form <0xHH>", name, piece);
  return static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16));
}

bool is_special(PieceType type) {
  return type == PieceType::kControl || type == PieceType::kUnknown;
}

std::optional<size_t> find_piece(const SentencePieceModel& model, std::string_view text) {
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].text == text) return id;
  }
  return std::nullopt;
}

size_t choose_end_of_document(const SentencePieceModel& model, const std::string& wanted, int eos,
                              const std::string& name) {
  if (wanted.empty()) {
    const auto usual = find_piece(model, kUsualSeparator);
    if (usual && model.pieces[*usual].type != PieceType::kNormal) return *usual;
    RETRO_CHECK(eos >= 0,
                "{}: has no end-of-sequence piece; name one with tokenizer.end_of_document", name);
    return static_cast<size_t>(eos);
  }
  const auto found = find_piece(model, wanted);
  RETRO_CHECK(found, "{}: tokenizer.end_of_document '{}' is not a piece of this model", name,
              wanted);
  const PieceType type = model.pieces[*found].type;
  RETRO_CHECK(type == PieceType::kControl || type == PieceType::kUserDefined,
              "{}: tokenizer.end_of_document '{}' is an ordinary piece; expected a control or "
              "user-defined one",
              name, wanted);
  return *found;
}

void check_lossless(const SentencePieceModel& model, const std::string& name) {
  RETRO_CHECK(!model.has_normalization && !model.removes_extra_whitespace,
              "{}: its normaliser changes the text (expected the identity rule and "
              "remove_extra_whitespaces = false), "
              "so bits per byte would be wrong; train a tokenizer instead",
              name);
  RETRO_CHECK(model.escapes_whitespace,
              "{}: escape_whitespaces is off; expected a model that writes spaces as U+2581", name);
}

}  // namespace

struct SentencePieceTokenizer::Impl {
  sentencepiece::SentencePieceProcessor processor;
  std::string name;
  std::string identity;
  std::vector<std::string> pieces;
  std::vector<std::string> texts;  ///< what each piece stands for; empty for special pieces
  std::array<int32_t, 256> byte_ids{};
  std::optional<SegmentCutter> cutter;
  int32_t end_of_document = -1;

  void load(SentencePieceModel model, const std::string& wanted_end);
  void read_pieces(const SentencePieceModel& model);
  void append(int32_t id, EncodedText& encoded) const {
    encoded.ids.push_back(id);
    encoded.bytes.push_back(static_cast<uint16_t>(texts[static_cast<size_t>(id)].size()));
  }
  void append_bytes(std::string_view text, EncodedText& encoded) const {
    for (const char byte : text) append(byte_ids[static_cast<unsigned char>(byte)], encoded);
  }
  void append_segment(std::string_view text, std::vector<int>& ids, EncodedText& encoded) const;
};

void SentencePieceTokenizer::Impl::read_pieces(const SentencePieceModel& model) {
  byte_ids.fill(-1);
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, type, offset] = model.pieces[id];
    pieces.push_back(text);
    texts.emplace_back();
    if (type == PieceType::kByte) {
      texts.back() = std::string(1, byte_of_piece(text, name));
      byte_ids[static_cast<unsigned char>(texts.back()[0])] = static_cast<int32_t>(id);
    } else if (!is_special(type)) {
      texts.back() = text_of_piece(text);
    }
    RETRO_CHECK(texts.back().size() <= std::numeric_limits<uint16_t>::max(),
                "{}: piece {} has {} bytes, at most 65535", name, id, texts.back().size());
  }
  for (size_t byte = 0; byte < byte_ids.size(); ++byte) {
    RETRO_CHECK(
        byte_ids[byte] >= 0,
        "{}: has no piece for byte {:02X}; expected byte fallback, without which text is lost",
        name, byte);
  }
}

void SentencePieceTokenizer::Impl::load(SentencePieceModel model, const std::string& wanted_end) {
  check_lossless(model, name);
  if (model.adds_dummy_prefix) model.remove_dummy_prefix();
  const auto load_model = [&] {
    const auto status = processor.LoadFromSerializedProto(model.bytes);
    RETRO_CHECK(status.ok(), "{}: not a usable SentencePiece model: {}", name, status.ToString());
  };
  load_model();
  const size_t end = choose_end_of_document(model, wanted_end, processor.eos_id(), name);
  if (model.pieces[end].type == PieceType::kUserDefined) {
    model.make_control(end);
    load_model();
  }
  end_of_document = static_cast<int32_t>(end);
  read_pieces(model);
  cutter.emplace(texts);
}

void SentencePieceTokenizer::Impl::append_segment(std::string_view text, std::vector<int>& ids,
                                                  EncodedText& encoded) const {
  if (text == kSpaceSymbol) return append_bytes(text, encoded);
  const auto status = processor.Encode(text, &ids);
  RETRO_CHECK(status.ok(), "{}: cannot encode: {}", name, status.ToString());
  for (const int id : ids) append(id, encoded);
}

SentencePieceTokenizer::SentencePieceTokenizer(const std::filesystem::path& path,
                                               const std::string& end_of_document)
    : SentencePieceTokenizer(read_file(path), path.string(), end_of_document) {}

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, const std::string& name,
                                               const std::string& end_of_document)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  const std::string hash = hash_text(model);
  impl_->load(SentencePieceModel::parse(std::move(model), name), end_of_document);
  impl_->identity = fmt::format("sentencepiece:{}:{}", hash, impl_->end_of_document);
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

EncodedText SentencePieceTokenizer::encode(std::string_view text) const {
  const int64_t invalid = first_invalid_utf8(text);
  RETRO_CHECK(invalid < 0, "text is not valid UTF-8 at byte {}", invalid);
  EncodedText encoded;
  std::vector<int> ids;
  while (!text.empty()) {
    const size_t length = impl_->cutter->next_segment(text);
    impl_->append_segment(text.substr(0, length), ids, encoded);
    text.remove_prefix(length);
  }
  return encoded;
}

std::string SentencePieceTokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    RETRO_CHECK(id >= 0 && id < vocabulary_size(), "token id {} is outside the vocabulary of {}",
                id, vocabulary_size());
    text += impl_->texts[static_cast<size_t>(id)];
  }
  return text;
}

int64_t SentencePieceTokenizer::vocabulary_size() const {
  return static_cast<int64_t>(impl_->pieces.size());
}

int32_t SentencePieceTokenizer::end_of_document() const { return impl_->end_of_document; }

std::string SentencePieceTokenizer::piece(int32_t id) const {
  RETRO_CHECK(id >= 0 && id < vocabulary_size(), "token id {} is outside the vocabulary of {}", id,
              vocabulary_size());
  return impl_->pieces[static_cast<size_t>(id)];
}

std::string SentencePieceTokenizer::identity() const { return impl_->identity; }

}  // namespace retro
