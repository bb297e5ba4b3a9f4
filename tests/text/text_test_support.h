// Texts and tokenizers for the tests of the text layer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "retro/core/random.h"
#include "retro/core/utf8.h"
#include "retro/text/tokenizer.h"

#include "core/test_support.h"

namespace retro::testing {

/// One token a byte, 256 ends a document: its ids can be written down by hand.
class ByteTokenizer : public Tokenizer {
 public:
  EncodedText encode(std::string_view text) const override {
    EncodedText encoded;
    for (const char byte : text) {
      encoded.ids.push_back(static_cast<unsigned char>(byte));
      encoded.bytes.push_back(1);
    }
    return encoded;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      if (id < 256) text.push_back(static_cast<char>(id));
    }
    return text;
  }
  int64_t vocabulary_size() const override { return 257; }
  int32_t end_of_document() const override { return 256; }
  std::string piece(int32_t id) const override { return std::to_string(id); }
  std::string identity() const override { return "bytes"; }
};

/// Words of made-up syllables, the first ones far more frequent, in lines of about 60 bytes.
inline std::string made_up_text(uint64_t seed, size_t size_bytes) {
  constexpr std::string_view kSyllables[] = {"ka", "lo", "mi",  "ter", "sun", "po", "ra",  "ne",
                                             "vi", "do", "the", "qua", "zor", "el", "ish", "um"};
  RandomStream random(seed, "made-up text");
  std::string text;
  size_t line = 0;
  while (text.size() < size_bytes) {
    // The square of a uniform number prefers small ones.
    const double u = random.uniform();
    auto word = static_cast<uint64_t>(u * u * 500.0);
    std::string spelled;
    for (uint64_t rest = word * 7 + 3; rest > 0; rest /= 16) spelled += kSyllables[rest % 16];
    text += spelled;
    line += spelled.size() + 1;
    text += line > 60 ? ".\n" : " ";
    if (line > 60) line = 0;
  }
  return text;
}

inline void spill_gzip(const std::filesystem::path& path, std::string_view text,
                       const char* mode = "wb") {
  gzFile file = gzopen(path.c_str(), mode);
  ASSERT_NE(file, nullptr);
  const auto size = static_cast<unsigned>(text.size());
  ASSERT_EQ(gzwrite(file, text.data(), size), static_cast<int>(size));
  ASSERT_EQ(gzclose(file), Z_OK);
}

}  // namespace retro::testing
