#include "byte_bpe_vocabulary.h"

#include <limits>

#include "retro/core/error.h"

#include "byte_alphabet.h"

namespace retro {

using Type = ByteBpeModel::Type;

int32_t find_id(const IdsByText& ids, std::string_view text) {
  const auto found = ids.find(text);
  return found == ids.end() ? -1 : found->second;
}

ByteBpeVocabulary::ByteBpeVocabulary(const ByteBpeModel& model) : merges(model.merges.size()) {
  RETRO_CHECK(!model.pieces.empty(), "{}: its vocabulary is empty", model.name);
  const auto count = static_cast<int32_t>(model.pieces.size());
  texts.resize(model.pieces.size());
  for (int32_t id = 0; id < count; ++id) read_piece(model, id);
  for (unsigned byte = 0; byte < 256; ++byte)
    byte_ids[byte] = find_id(words, std::string(1, static_cast<char>(byte)));
  read_merges(model);
}

void ByteBpeVocabulary::read_piece(const ByteBpeModel& model, int32_t id) {
  const auto& [text, type] = model.pieces[static_cast<size_t>(id)];
  if (type == Type::kAbsent) return;
  ids_by_piece.emplace(text, id);
  if (type != Type::kNormal) added_and_special.add(text, id);
  if (type == Type::kSpecial) return;
  std::string& stands_for = texts[static_cast<size_t>(id)];
  if (type == Type::kAdded) {
    added.add(text, id);
    stands_for = text;
  } else {
    const auto bytes = bytes_of_piece(text);
    RETRO_CHECK(bytes, "{}: piece {} `{}` is not of the byte-level alphabet", model.name, id, text);
    stands_for = *bytes;
    words.emplace(*bytes, id);
  }
  RETRO_CHECK(stands_for.size() <= std::numeric_limits<uint16_t>::max(),
              "{}: piece {} has {} bytes, at most 65535", model.name, id, stands_for.size());
}

int32_t ByteBpeVocabulary::merged_id(const ByteBpeModel& model, const std::string& piece) const {
  const int32_t id = find_id(ids_by_piece, piece);
  RETRO_CHECK(id >= 0, "{}: a merge needs the piece `{}`, which the vocabulary does not have",
              model.name, piece);
  return id;
}

void ByteBpeVocabulary::read_merges(const ByteBpeModel& model) {
  int32_t rank = 0;
  for (const auto& [left, right] : model.merges)
    merges.add(merged_id(model, left), merged_id(model, right),
               {rank++, merged_id(model, left + right)});
}

}  // namespace retro
