#include "retro/embed/hashed_embedder.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "retro/core/error.h"

namespace retro {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr uint64_t kFnvPrime = 0x100000001b3;
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

bool is_word_byte(unsigned char byte) {
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z');
}

/// Bytes of the word that begins at `text[0]`: a run of letters, digits and non-ASCII characters,
/// or one punctuation mark; 0 where no word begins (space, control characters, U+FFFD), as BERT's
/// cleaning has it.
size_t word_length(std::string_view text) {
  const auto is_broken = [&](size_t at) {
    return text.substr(at).starts_with(kReplacementCharacter);
  };
  const auto first = static_cast<unsigned char>(text[0]);
  if (!is_word_byte(first)) return first > ' ' && first < 0x7F ? 1 : 0;
  size_t length = 0;
  while (length < text.size() && is_word_byte(static_cast<unsigned char>(text[length])) &&
         !is_broken(length)) {
    ++length;
  }
  return length;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t length = word_length(text.substr(at));
    if (length > 0) words.push_back(text.substr(at, length));
    const bool is_broken = length == 0 && text.substr(at).starts_with(kReplacementCharacter);
    at += is_broken ? kReplacementCharacter.size() : std::max<size_t>(length, 1);
  }
  return words;
}

uint64_t add_word(uint64_t hash, std::string_view word) {
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    hash = (hash ^ byte) * kFnvPrime;
  }
  return (hash ^ 0x1F) * kFnvPrime;  // a separator, so that ("ab","c") and ("a","bc") differ
}

/// The finaliser of splitmix64: FNV's low bits alone are too regular to pick a feature with.
uint64_t mix(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

void add_feature(uint64_t hash, std::span<float> key_Q) {
  const uint64_t mixed = mix(hash);
  key_Q[mixed % key_Q.size()] += mixed >> 63 ? 1.0F : -1.0F;
}

void normalise(std::span<float> key_Q) {
  double sum = 0;
  for (const float value : key_Q) sum += double{value} * double{value};
  if (sum == 0) return;  // features that cancel out: the zero key is as good as any
  const double scale = 1 / std::sqrt(sum);
  for (float& value : key_Q) value = static_cast<float>(value * scale);
}

}  // namespace

HashedEmbedder::HashedEmbedder(int64_t key_width) : key_width_(key_width) {
  RETRO_CHECK(key_width > 0, "hashed embedder: the key width is {}, at least 1 is needed",
              key_width);
}

void HashedEmbedder::embed(std::span<const std::string> texts, std::span<float> keys_TQ,
                           std::span<uint8_t> has_key) {
  const auto width = static_cast<size_t>(key_width_);
  RETRO_CHECK(keys_TQ.size() == texts.size() * width && has_key.size() == texts.size(),
              "hashed embedder: {} texts of width {} do not fit {} key values and {} flags",
              texts.size(), width, keys_TQ.size(), has_key.size());
  std::ranges::fill(keys_TQ, 0.0F);
  for (size_t t = 0; t < texts.size(); ++t) {
    const std::span<float> key_Q = keys_TQ.subspan(t * width, width);
    const std::vector<std::string_view> words = split_words(texts[t]);
    for (size_t w = 0; w < words.size(); ++w) {
      add_feature(add_word(kFnvOffset, words[w]), key_Q);
      if (w > 0) add_feature(add_word(add_word(kFnvOffset, words[w - 1]), words[w]), key_Q);
    }
    normalise(key_Q);
    has_key[t] = words.empty() ? 0 : 1;
    pieces_read_ += static_cast<int64_t>(words.size());
  }
}

std::string HashedEmbedder::identity() const { return fmt::format("hashed-1:{}", key_width_); }

}  // namespace retro
