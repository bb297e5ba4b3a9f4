// Small corpora of known tokens for the tests of the data and training layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/text/chunker.h"
#include "retro/text/token_corpus.h"
#include "retro/text/tokenizer.h"

namespace retro::testing {

/// Lengths on both sides of the ends of chunks of 4.
inline const std::vector<std::string> kEdgeTexts = {"a", "bcd", "efgh", "ijklm", "nopqrstu"};

/// One id a byte, "==" apart, which is one token of two bytes. End of document is 256.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr int32_t kEnd = 256;
  static constexpr int32_t kPair = 257;
  static constexpr int64_t kVocabulary = 258;

  EncodedText encode(std::string_view text) const override {
    EncodedText out;
    for (size_t i = 0; i < text.size();) {
      const bool is_pair = text.substr(i, 2) == "==";
      out.ids.push_back(is_pair ? kPair : static_cast<unsigned char>(text[i]));
      out.bytes.push_back(is_pair ? 2 : 1);
      i += out.bytes.back();
    }
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string out;
    for (const int32_t id : ids) {
      if (id == kPair) out += "==";
      if (id < kEnd) out += static_cast<char>(id);
    }
    return out;
  }
  int64_t vocabulary_size() const override { return kVocabulary; }
  int32_t end_of_document() const override { return kEnd; }
  std::string piece(int32_t id) const override { return decode({&id, 1}); }
  std::string identity() const override { return "byte-tokenizer-of-the-tests"; }
};

/// A directory that goes when the object does.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static int counter = 0;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("retro_test_{}_{}", ::getpid(), counter++);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A source of documents; all of them get the same role.
struct TinySource {
  std::string name;
  std::vector<std::string> texts;
  bool is_validation = false;
};

/// Builds a corpus on disk and opens it. Document i of a source has id "i"; documents keep the
/// given order.
class TinyCorpus {
 public:
  explicit TinyCorpus(const std::vector<TinySource>& sources)
      : corpus_(build(sources, directory_.path())) {}
  /// One source, "tiny", all of it training text.
  static TinyCorpus of(std::vector<std::string> texts) {
    return TinyCorpus({TinySource{"tiny", std::move(texts)}});
  }

  const TokenCorpus& corpus() const { return corpus_; }
  const std::filesystem::path& directory() const { return directory_.path(); }
  ChunkGrid grid(int64_t chunk_length, int64_t shift = 0) const {
    std::vector<int64_t> all(static_cast<size_t>(corpus_.num_documents()));
    std::iota(all.begin(), all.end(), 0);
    return {corpus_, all, chunk_length, shift};
  }
  ChunkGrid grid_of(uint32_t roles, int64_t chunk_length) const {
    return {corpus_, corpus_.documents_with(roles), chunk_length};
  }

 private:
  static std::filesystem::path build(const std::vector<TinySource>& sources,
                                     const std::filesystem::path& directory) {
    set_log_quiet(true);
    CorpusConfig config;
    config.deduplicate_database = false;
    for (const TinySource& source : sources) {
      const auto path = directory / (source.name + ".jsonl");
      std::string lines;
      for (size_t i = 0; i < source.texts.size(); ++i) {
        lines += fmt::format("{{\"id\": \"{}\", \"text\": \"{}\"}}\n", i, source.texts[i]);
      }
      write_file(path, lines);
      SourceConfig out;
      out.name = source.name;
      out.path = path.string();
      out.test_share = 0;
      out.validation_share = source.is_validation ? 1 : 0;
      config.sources.push_back(out);
    }
    build_token_corpus(config, ByteTokenizer(), 0, 1, directory / "corpus");
    return directory / "corpus";
  }

  TemporaryDirectory directory_;
  TokenCorpus corpus_;
};

/// `count` random lower-case texts of 1 to `longest` characters, now and then a two-byte token.
inline std::vector<std::string> random_texts(int64_t count, int64_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    std::string text;
    const int64_t length = 1 + static_cast<int64_t>(random()) % longest;
    for (int64_t t = 0; t < length; ++t) {
      const auto letter = random() % 27;
      text += letter == 26 ? std::string("==") : std::string(1, static_cast<char>('a' + letter));
    }
    texts.push_back(text);
  }
  return texts;
}

}  // namespace retro::testing
