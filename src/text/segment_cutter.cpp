#include "segment_cutter.h"

#include <algorithm>

#include "retro/core/utf8.h"

namespace retro {
namespace {

constexpr size_t kLongestSegment = size_t{16} << 10;

bool has_inner_newline(std::string_view piece) {
  return piece.size() > 1 && piece.find('\n') != piece.npos;
}

/// Is position `i` the place between a non-space and a space?
bool is_word_end(std::string_view text, size_t i) { return text[i] == ' ' && text[i - 1] != ' '; }

bool spans_word_end(std::string_view piece) {
  for (size_t i = 1; i < piece.size(); ++i) {
    if (is_word_end(piece, i)) return true;
  }
  return false;
}

}  // namespace

SegmentCutter::SegmentCutter(const std::vector<std::string>& texts)
    : cuts_at_newlines_(std::none_of(texts.begin(), texts.end(), has_inner_newline)),
      cuts_before_spaces_(std::none_of(texts.begin(), texts.end(), spans_word_end)) {}

size_t SegmentCutter::next_segment(std::string_view text) const {
  if (text.starts_with(kSpaceSymbol)) return kSpaceSymbol.size();
  std::string_view segment = text.substr(0, kLongestSegment + 1);
  if (cuts_at_newlines_)
    segment = segment.substr(0, std::min(segment.find('\n'), segment.size() - 1) + 1);
  segment = segment.substr(0, segment.find(kSpaceSymbol));
  return segment.size() <= kLongestSegment ? segment.size() : cut_long(segment);
}

size_t SegmentCutter::cut_long(std::string_view text) const {
  for (size_t i = kLongestSegment; cuts_before_spaces_ && i > kLongestSegment / 2; --i) {
    if (is_word_end(text, i)) return i;
  }
  size_t end = kLongestSegment;
  while (is_continuation_byte(text[end])) --end;
  return end;
}

}  // namespace retro
