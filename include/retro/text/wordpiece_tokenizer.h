// BERT's WordPiece: basic tokenisation (clean, lower-case, strip accents, split CJK and
// punctuation), then greedy longest-match pieces. Ids equal those of the reference, the
// BertTokenizerFast of Hugging Face (the `tokenizers` library), reading special tokens as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro {

/// Thread-safe once constructed.
class WordPieceTokenizer {
 public:
  struct Options {
    bool lower_case = true;
    bool strip_accents = true;
    bool split_cjk = true;
    int64_t longest_word = 100;  ///< characters; longer words are [UNK]
    bool clean_text = true;      ///< control and private-use characters are dropped
  };
  /// Reads vocab.txt (one piece a line) and, where present beside it, tokenizer_config.json and
  /// tokenizer.json for options; the latter decides. Throws Error naming the file.
  static WordPieceTokenizer from_directory(const std::filesystem::path& directory);
  WordPieceTokenizer(const std::filesystem::path& vocabulary, Options options);

  /// Piece ids without special tokens, and none comes from the text: "[SEP]" in it is three or
  /// more ordinary pieces. Invalid bytes are read as U+FFFD (and dropped, as the reference does).
  std::vector<int32_t> encode(std::string_view text) const;

  int32_t cls_id() const { return cls_id_; }
  int32_t sep_id() const { return sep_id_; }
  int32_t unknown_id() const { return unknown_id_; }
  int64_t vocabulary_size() const { return vocabulary_size_; }
  const Options& options() const { return options_; }

 private:
  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  /// Pieces of one kind by their text.
  struct PieceTable {
    std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> ids;
    size_t longest_bytes = 0;

    void add(std::string_view piece, int32_t id);
    /// The longest piece at the front of `text`: its id, and its length in bytes in `length`; or
    /// -1.
    int32_t longest_match(std::string_view text, size_t& length) const;
  };
  void read_vocabulary(const std::filesystem::path& path);
  int32_t special_id(const std::filesystem::path& path, std::string_view name,
                     std::string_view other_name) const;
  void encode_word(std::string_view word, int64_t characters, std::vector<int32_t>& ids) const;

  PieceTable initial_;
  PieceTable continuation_;  ///< "##ing" without its mark
  Options options_;
  int64_t vocabulary_size_ = 0;
  int32_t cls_id_ = -1;
  int32_t sep_id_ = -1;
  int32_t unknown_id_ = -1;
};

}  // namespace retro
