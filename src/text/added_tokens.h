// Tokens that are found in text as they stand, before it is cut into words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro {

class AddedTokens {
 public:
  /// The empty text is ignored.
  void add(std::string text, int32_t id);
  bool empty() const { return is_empty_; }

  struct Match {
    size_t offset;
    size_t length;
    int32_t id;
  };
  /// The leftmost token in `text`, of those at one place the longest.
  std::optional<Match> find(std::string_view text) const;

 private:
  struct Token {
    std::string text;
    int32_t id;
  };
  /// By first byte, longest first.
  std::array<std::vector<Token>, 256> tokens_;
  bool is_empty_ = true;
};

}  // namespace retro
