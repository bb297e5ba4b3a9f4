// A seeded sample of sentences to train a tokenizer on, within a memory limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/random.h"

namespace retro {

/// Cuts texts into training sentences and keeps a uniform sample of them, `limit_bytes` at most.
/// The sample depends on the seed and the texts' order alone. Left out, because the trainer gives
/// them a meaning of its own: newlines, NUL, U+2581, U+2585. A name like "<s>" in a text is cut in
/// two, so that no piece becomes a second "<s>".
class SentenceSample {
 public:
  SentenceSample(int64_t limit_bytes, uint64_t seed);

  /// Throws Error for invalid UTF-8.
  void add(std::string_view text);
  int64_t size_bytes() const { return size_bytes_; }
  /// The sentences in the order they came; empties the sample.
  std::vector<std::string> take();

 private:
  struct Sentence {
    uint64_t priority = 0;
    int64_t index = 0;
    std::string text;
  };
  static bool less(const Sentence& a, const Sentence& b);
  void add_line(std::string_view line);
  void keep(std::string_view sentence);

  int64_t limit_bytes_;
  RandomStream random_;
  int64_t num_seen_ = 0;
  int64_t size_bytes_ = 0;
  std::vector<Sentence> heap_;  ///< the largest priority on top: the next to leave
};

}  // namespace retro
