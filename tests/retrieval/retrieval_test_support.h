// Small corpora of chosen documents, embedders without weights, and brute force in double
// precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/embed/chunk_embedder.h"
#include "retro/embed/hashed_embedder.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/text/chunker.h"
#include "retro/text/token_corpus.h"
#include "retro/text/tokenizer.h"

#include "core/test_support.h"

namespace retro::testing {

/// One token a byte.
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(std::string name = "bytes") : name_(std::move(name)) {}
  EncodedText encode(std::string_view text) const override {
    EncodedText out;
    for (const char c : text) out.ids.push_back(static_cast<unsigned char>(c));
    out.bytes.assign(text.size(), 1);
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string out;
    for (const int32_t id : ids) {
      if (id < 256) out += static_cast<char>(id);
    }
    return out;
  }
  int64_t vocabulary_size() const override { return 257; }
  int32_t end_of_document() const override { return 256; }
  std::string piece(int32_t id) const override { return decode({&id, 1}); }
  std::string identity() const override { return name_; }

 private:
  std::string name_;
};

/// Keys in clusters, drawn from the text's hash: texts have nothing to do with one another, but the
/// keys look like real ones to an index. A text of spaces only has no key.
class ClusterEmbedder final : public ChunkEmbedder {
 public:
  explicit ClusterEmbedder(int64_t key_width, uint64_t num_clusters = 50)
      : key_width_(key_width), num_clusters_(num_clusters) {}
  int64_t key_width() const override { return key_width_; }
  void embed(std::span<const std::string> texts, std::span<float> keys_TQ,
             std::span<uint8_t> has_key) override {
    auto* key = keys_TQ.data();
    for (size_t t = 0; t < texts.size(); ++t, key += key_width_) {
      has_key[t] = texts[t].find_first_not_of(' ') == std::string::npos ? 0 : 1;
      uint64_t own = std::hash<std::string>{}(texts[t]);
      uint64_t cluster = own % num_clusters_ + 1;
      for (int64_t f = 0; f < key_width_; ++f) {
        key[f] = has_key[t] != 0 ? 4 * uniform(cluster) + uniform(own) : 0;
      }
    }
    num_embedded_ += static_cast<int64_t>(texts.size());
  }
  std::string identity() const override { return "clusters:" + std::to_string(key_width_); }
  int64_t pieces_read() const override { return num_embedded_; }

 private:
  /// The next number of a small generator (splitmix64) in [-1, 1).
  static float uniform(uint64_t& state) {
    state += 0x9E3779B97F4A7C15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<float>(z >> 40) / static_cast<float>(1 << 23) - 1;
  }

  int64_t key_width_;
  uint64_t num_clusters_;
  int64_t num_embedded_ = 0;
};

struct TestDocument {
  std::string source;
  std::string id;
  std::string text;
  std::string group = "";
};

/// A corpus on disk below `directory`, all documents in the database role.
class TestCorpus {
 public:
  TestCorpus(const std::filesystem::path& directory, const std::vector<TestDocument>& documents,
             const std::string& name = "corpus")
      : corpus_(build(directory, documents, name)) {}

  const TokenCorpus& corpus() const { return corpus_; }
  /// Every document.
  ChunkGrid grid(int64_t chunk_length, int64_t shift = 0) const {
    return {corpus_, corpus_.documents_with(kRoleDatabase), chunk_length, shift};
  }
  /// Documents of these sources.
  ChunkGrid grid_of(const std::vector<std::string>& sources, int64_t chunk_length,
                    int64_t shift = 0) const {
    std::vector<int64_t> numbers;
    for (int64_t d = 0; d < corpus_.num_documents(); ++d) {
      if (std::ranges::count(sources, corpus_.document(d).source) > 0) numbers.push_back(d);
    }
    return {corpus_, numbers, chunk_length, shift};
  }

 private:
  static std::filesystem::path build(const std::filesystem::path& directory,
                                     const std::vector<TestDocument>& documents,
                                     const std::string& name) {
    std::vector<std::string> names;
    std::map<std::string, std::string> lines;
    for (const TestDocument& document : documents) {
      if (!lines.contains(document.source)) names.push_back(document.source);
      nlohmann::json json{{"id", document.id},
                          {"title", "title of " + document.id},
                          {"text", document.text},
                          {"extra", document.id}};
      if (!document.group.empty()) json["group"] = document.group;
      lines[document.source] += json.dump() + "\n";
    }
    CorpusConfig config;
    config.deduplicate_database = false;
    for (const std::string& source : names) {
      const auto path = directory / (name + "_" + source + ".jsonl");
      spill(path, lines[source]);
      SourceConfig source_config;
      source_config.name = source;
      source_config.path = path.string();
      source_config.kind = "database";
      config.sources.push_back(source_config);
    }
    build_token_corpus(config, ByteTokenizer(), 0, 1, directory / name);
    return directory / name;
  }

  TokenCorpus corpus_;
};

/// Lower-case words of 1 to 6 letters and spaces, `length` bytes.
inline std::string random_text(int64_t length, uint64_t seed) {
  std::string text;
  for (int64_t i = 0; i < length; ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    const uint64_t draw = seed >> 33;
    text += draw % 5 == 0 && i > 0 ? ' ' : static_cast<char>('a' + draw / 5 % 26);
  }
  return text;
}

inline DatabaseConfig database_config(int64_t chunk_length,
                                      const std::string& key_storage = "float32") {
  DatabaseConfig config;
  config.chunk_length = chunk_length;
  config.key_storage = key_storage;
  return config;
}

inline double distance_in_double(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return sum;
}

/// (distance, id), nearest first; float64 brute force over rows that `may_see` passes.
template <class MaySee>
std::vector<std::pair<double, int64_t>> nearest_in_double(std::span<const float> keys,
                                                          std::span<const float> query, size_t k,
                                                          MaySee may_see) {
  std::vector<std::pair<double, int64_t>> all;
  for (size_t row = 0; row < keys.size() / query.size(); ++row) {
    if (!may_see(static_cast<int64_t>(row))) continue;
    all.emplace_back(distance_in_double(keys.subspan(row * query.size(), query.size()), query),
                     static_cast<int64_t>(row));
  }
  std::ranges::sort(all);
  all.resize(std::min(k, all.size()));
  return all;
}

/// All stored keys of a database.
inline std::vector<float> all_keys(const RetrievalDatabase& database) {
  std::vector<float> keys(static_cast<size_t>(database.num_chunks() * database.key_width()));
  database.copy_keys(0, database.num_chunks(), keys);
  return keys;
}

/// Relative path -> content of every file below `directory`.
inline std::map<std::string, std::string> tree_of(const std::filesystem::path& directory) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    tree[std::filesystem::relative(entry.path(), directory).string()] = slurp(entry.path());
  }
  return tree;
}

/// A hook that kills this process at its call number `fatal_call`, counted from 0.
inline FileHook killer(int fatal_call) {
  return [left = fatal_call](std::string_view, const std::filesystem::path&) mutable {
    if (left-- == 0) ::raise(SIGKILL);
  };
}

}  // namespace retro::testing
