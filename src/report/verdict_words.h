// What a verdict's kind means, in words for someone who has not read the method.
#pragma once

#include <string>

namespace retro {

struct VerdictWords {
  std::string style;    ///< CSS class
  std::string badge;    ///< a word or two
  std::string meaning;  ///< one sentence
};

/// "retrieval is read" -> "Retrieval is read".
std::string capitalised(std::string text);
/// `kind` as in eval/result.json; another one is shown as it is.
VerdictWords verdict_words(const std::string& kind);

}  // namespace retro
