#include "sentence_sample.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "retro/core/error.h"
#include "retro/core/utf8.h"

namespace retro {
namespace {

constexpr size_t kLongestSentence = 4096;
/// NUL and newline, U+2581 (a space in pieces), U+2585 (the trainer's unknown character).
constexpr std::array<std::string_view, 4> kSeparators = {std::string_view("\0", 1), "\n",
                                                         "\xE2\x96\x81", "\xE2\x96\x85"};
constexpr std::array<std::string_view, 4> kReservedNames = {"<s>", "</s>", "<unk>", "<0x"};

/// Length of the separator at the front of `text`, or 0.
size_t separator_length(std::string_view text) {
  for (const std::string_view separator : kSeparators) {
    if (text.starts_with(separator)) return separator.size();
  }
  return 0;
}

bool begins_reserved_name(std::string_view text) {
  return std::any_of(kReservedNames.begin(), kReservedNames.end(),
                     [text](std::string_view name) { return text.starts_with(name); });
}

/// Bytes up to the next place where a sentence must end.
size_t sentence_length(std::string_view text) {
  constexpr std::string_view kFirstBytes("\0\n\xE2<", 4);
  for (size_t i = text.find_first_of(kFirstBytes); i != text.npos;
       i = text.find_first_of(kFirstBytes, i + 1)) {
    if (separator_length(text.substr(i)) > 0) return i;
    if (begins_reserved_name(text.substr(i))) return i + 1;
  }
  return text.size();
}

/// Bytes of the first part of at most kLongestSentence: ends before a space where there is one.
size_t part_length(std::string_view sentence) {
  if (sentence.size() <= kLongestSentence) return sentence.size();
  const size_t space = sentence.rfind(' ', kLongestSentence);
  if (space != sentence.npos && space > 0) return space;
  size_t end = kLongestSentence;
  while (is_continuation_byte(sentence[end])) --end;
  return end;
}

}  // namespace

SentenceSample::SentenceSample(int64_t limit_bytes, uint64_t seed)
    : limit_bytes_(limit_bytes), random_(seed, "tokenizer training sample") {}

bool SentenceSample::less(const Sentence& a, const Sentence& b) {
  return std::tie(a.priority, a.index) < std::tie(b.priority, b.index);
}

void SentenceSample::add(std::string_view text) {
  const int64_t invalid = first_invalid_utf8(text);
  RETRO_CHECK(invalid < 0, "text to train a tokenizer on is not valid UTF-8 at byte {}", invalid);
  while (!text.empty()) {
    const size_t length = sentence_length(text);
    add_line(text.substr(0, length));
    text.remove_prefix(length);
    text.remove_prefix(text.empty() ? 0 : separator_length(text));
  }
}

void SentenceSample::add_line(std::string_view line) {
  while (!line.empty()) {
    const size_t length = part_length(line);
    keep(line.substr(0, length));
    line.remove_prefix(length);
  }
}

void SentenceSample::keep(std::string_view sentence) {
  const uint64_t priority = random_.next_u64();
  const int64_t index = num_seen_++;
  // Once full, nothing of a larger priority than the largest kept comes in.
  const bool is_full = size_bytes_ + static_cast<int64_t>(sentence.size()) > limit_bytes_;
  if (is_full && !heap_.empty() && priority > heap_.front().priority) return;
  heap_.push_back({priority, index, std::string(sentence)});
  std::push_heap(heap_.begin(), heap_.end(), less);
  size_bytes_ += static_cast<int64_t>(sentence.size());
  while (size_bytes_ > limit_bytes_) {
    std::pop_heap(heap_.begin(), heap_.end(), less);
    size_bytes_ -= static_cast<int64_t>(heap_.back().text.size());
    heap_.pop_back();
  }
}

std::vector<std::string> SentenceSample::take() {
  std::sort(heap_.begin(), heap_.end(),
            [](const Sentence& a, const Sentence& b) { return a.index < b.index; });
  std::vector<std::string> sentences;
  sentences.reserve(heap_.size());
  for (Sentence& sentence : heap_) sentences.push_back(std::move(sentence.text));
  heap_.clear();
  size_bytes_ = 0;
  return sentences;
}

}  // namespace retro
