// The look-up tables of a byte-level BPE model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "retro/text/byte_bpe_model.h"

#include "added_tokens.h"
#include "merge_table.h"

namespace retro {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using IdsByText = std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>>;

/// -1: not there.
int32_t find_id(const IdsByText& ids, std::string_view text);

struct ByteBpeVocabulary {
  /// Throws Error naming the model: an empty vocabulary, pieces outside the byte-level alphabet,
  /// merges of pieces it does not have.
  explicit ByteBpeVocabulary(const ByteBpeModel& model);

  IdsByText ids_by_piece;               ///< as the model writes them
  std::vector<std::string> texts;       ///< what each id stands for; empty for special tokens
  IdsByText words;                      ///< normal pieces by what they stand for
  std::array<int32_t, 256> byte_ids{};  ///< -1: no piece for this byte
  MergeTable merges;
  AddedTokens added;              ///< found in every text
  AddedTokens added_and_special;  ///< found where special tokens are asked for

 private:
  void read_piece(const ByteBpeModel& model, int32_t id);
  void read_merges(const ByteBpeModel& model);
  int32_t merged_id(const ByteBpeModel& model, const std::string& piece) const;
};

}  // namespace retro
