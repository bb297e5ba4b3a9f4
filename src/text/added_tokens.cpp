#include "added_tokens.h"

#include <algorithm>

namespace retro {

void AddedTokens::add(std::string text, int32_t id) {
  if (text.empty()) return;
  auto& same_first = tokens_[static_cast<unsigned char>(text[0])];
  const auto place = std::find_if(same_first.begin(), same_first.end(), [&](const Token& token) {
    return token.text.size() < text.size();
  });
  same_first.insert(place, {std::move(text), id});
  is_empty_ = false;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text) const {
  for (size_t offset = 0; offset < text.size(); ++offset) {
    for (const Token& token : tokens_[static_cast<unsigned char>(text[offset])]) {
      if (text.substr(offset).starts_with(token.text))
        return Match{offset, token.text.size(), token.id};
    }
  }
  return std::nullopt;
}

}  // namespace retro
