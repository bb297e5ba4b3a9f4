// The parts of a SentencePiece model file that its library does not tell: piece types and
// normaliser settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro {

/// sentencepiece_model.proto, ModelProto.SentencePiece.Type.
enum class PieceType : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct SentencePieceEntry {
  std::string text;
  PieceType type = PieceType::kNormal;
  size_t type_offset = 0;  ///< where the file stores the type; 0 where it leaves the default out
};

/// A model file read as protobuf wire format (the library's own message classes are not installed
/// by Debian).
struct SentencePieceModel {
  std::string bytes;  ///< the serialised model, as the library loads it
  std::vector<SentencePieceEntry> pieces;
  bool has_normalization = false;  ///< a character map other than the identity
  bool adds_dummy_prefix = true;
  bool removes_extra_whitespace = true;
  bool escapes_whitespace = true;

  /// Throws Error naming `name` for bytes that are no SentencePiece model.
  static SentencePieceModel parse(std::string bytes, const std::string& name);

  /// Text never gives a control piece, so this keeps a user-defined piece for ids alone.
  void make_control(size_t id);
  /// No space is put before the text: it would not be in decode(encode(text)).
  void remove_dummy_prefix();
};

}  // namespace retro
