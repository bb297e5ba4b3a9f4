// Where a long text may be cut so that its parts are encoded on their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retro {

/// U+2581, how pieces write a space.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

/// Cuts a text into segments. A pure function of the text and the vocabulary:
///   - a raw U+2581 is a segment of its own (SentencePiece would read it as a space);
///   - a line ends after its newline, if no piece holds a newline and anything else;
///   - what is longer than 16 KiB is cut before a space that follows another character, if no piece
///     spans such a place, and only where there is none at a character's end.
/// No piece is cut but by that last resort, so the ids are as good as those of the whole text. BPE
/// gives the same ones; a unigram model may resolve exact ties (rows of "=") otherwise, as its sums
/// over a long text round.
class SegmentCutter {
 public:
  /// `texts`: what each piece of the vocabulary stands for.
  explicit SegmentCutter(const std::vector<std::string>& texts);

  /// Bytes of the first segment of valid UTF-8 `text`, which must not be empty.
  size_t next_segment(std::string_view text) const;

 private:
  size_t cut_long(std::string_view text) const;

  bool cuts_at_newlines_ = true;
  bool cuts_before_spaces_ = true;
};

}  // namespace retro
