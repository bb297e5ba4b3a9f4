// Tokens to text as they come: only whole UTF-8 characters leave.
#pragma once

#include <string>
#include <string_view>

namespace retro {

class Utf8Stream {
 public:
  /// Adds bytes; returns what can be shown: everything up to the last complete character. Bytes
  /// that cannot become valid come out as U+FFFD at once.
  std::string push(std::string_view bytes);
  /// What is left at the end; an unfinished character becomes U+FFFD.
  std::string finish();

 private:
  std::string pending_;
};

}  // namespace retro
