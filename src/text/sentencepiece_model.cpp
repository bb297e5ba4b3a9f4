#include "sentencepiece_model.h"

#include "retro/core/error.h"

namespace retro {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field of a message: its number, and its value as a number or as bytes.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
  size_t value_offset = 0;  ///< in the whole file
};

/// Reads the fields of one message, which lies at `offset` of the file.
class MessageReader {
 public:
  MessageReader(std::string_view message, size_t offset, const std::string& name)
      : message_(message), offset_(offset), name_(name) {}

  bool next(Field& field) {
    if (position_ == message_.size()) return false;
    const uint64_t tag = read_varint();
    field = {tag >> 3, 0, {}, offset_ + position_};
    switch (tag & 7) {
      case kVarint:
        field.value = read_varint();
        break;
      case kFixed64:
        take(8);
        break;
      case kFixed32:
        take(4);
        break;
      case kBytes: {
        const uint64_t length = read_varint();
        field.value_offset = offset_ + position_;
        field.bytes = take(length);
        break;
      }
      default:
        fail();
    }
    return true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(fmt::format(
        "{}: not a SentencePiece model (expected its protobuf fields, found other or cut bytes)",
        name_));
  }

  std::string_view take(uint64_t length) {
    if (length > message_.size() - position_) fail();
    const std::string_view bytes = message_.substr(position_, length);
    position_ += length;
    return bytes;
  }

  uint64_t read_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::string_view message_;
  size_t offset_;
  const std::string& name_;
  size_t position_ = 0;
};

SentencePieceEntry read_piece(const Field& message, const std::string& name) {
  SentencePieceEntry entry;
  MessageReader reader(message.bytes, message.value_offset, name);
  for (Field field; reader.next(field);) {
    if (field.number == 1) entry.text = field.bytes;
    if (field.number != 3) continue;
    RETRO_CHECK(field.value >= 1 && field.value <= 6,
                "{}: not a SentencePiece model (piece type {})", name, field.value);
    entry.type = static_cast<PieceType>(field.value);
    entry.type_offset = field.value_offset;
  }
  return entry;
}

void read_normalizer(SentencePieceModel& model, const Field& message, const std::string& name) {
  MessageReader reader(message.bytes, message.value_offset, name);
  for (Field field; reader.next(field);) {
    if (field.number == 2) model.has_normalization = !field.bytes.empty();
    if (field.number == 3) model.adds_dummy_prefix = field.value != 0;
    if (field.number == 4) model.removes_extra_whitespace = field.value != 0;
    if (field.number == 5) model.escapes_whitespace = field.value != 0;
  }
}

}  // namespace

SentencePieceModel SentencePieceModel::parse(std::string bytes, const std::string& name) {
  SentencePieceModel model;
  model.bytes = std::move(bytes);
  MessageReader reader(model.bytes, 0, name);
  for (Field field; reader.next(field);) {
    if (field.number == 1) model.pieces.push_back(read_piece(field, name));
    if (field.number == 3) read_normalizer(model, field, name);
  }
  RETRO_CHECK(!model.pieces.empty(), "{}: not a SentencePiece model (it has no pieces)", name);
  return model;
}

void SentencePieceModel::make_control(size_t id) {
  SentencePieceEntry& entry = pieces.at(id);
  if (entry.type == PieceType::kControl) return;
  // Every type but the default is stored, and all of them are one byte.
  RETRO_CHECK(entry.type_offset != 0, "piece '{}' is ordinary text and cannot be reserved",
              entry.text);
  entry.type = PieceType::kControl;
  bytes[entry.type_offset] = static_cast<char>(PieceType::kControl);
}

void SentencePieceModel::remove_dummy_prefix() {
  // A repeated sub-message is merged into the first: field 3 (normaliser), 2 bytes long, its field
  // 3 = 0.
  bytes += std::string_view("\x1A\x02\x18\x00", 4);
  adds_dummy_prefix = false;
}

}  // namespace retro
