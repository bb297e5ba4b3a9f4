// A database that changes, beside a plain list of what should be in it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/document_selection.h"
#include "retro/retrieval/live_database.h"

#include "index_test_support.h"

namespace retro::testing {

inline RawDocument raw_document(std::string id, std::string text, std::string fields = "{}") {
  RawDocument document;
  document.title = "title of " + id;
  document.id = std::move(id);
  document.text = std::move(text);
  document.fields = std::move(fields);
  return document;
}

inline Addition addition(std::vector<RawDocument> documents, std::string source = "new",
                         bool replaces_present = false) {
  return {[documents = std::move(documents)](const std::function<void(RawDocument &&)>& sink) {
            for (RawDocument document : documents) sink(std::move(document));
          },
          std::move(source), replaces_present};
}

/// What should be found: documents with the ids of their chunks, kept by hand.
struct ExpectedDocument {
  std::string source;
  std::string id;
  std::string text;
  int64_t first_chunk = 0;
};

class LivingDatabase {
 public:
  static constexpr int64_t kChunkLength = 4;
  static constexpr int64_t kWidth = 8;

  explicit LivingDatabase(const std::vector<TestDocument>& documents,
                          const std::string& index_type = "exact", int64_t shard_chunks = 1 << 20) {
    const TestCorpus corpus(scratch_.path(), documents);
    DatabaseConfig config = database_config(kChunkLength);
    config.shard_chunks = shard_chunks;
    build_database(corpus.grid(kChunkLength), tokenizer_, embedder_, config, place().database);
    settings_.index = index_config(index_type, index_type == "exact" ? 0 : 4);
    settings_.seed = 7;
    settings_.shard_chunks = shard_chunks;
    build_index(RetrievalDatabase(place().database), settings_.index, 7, 1, place().index);
    for (const TestDocument& document : documents) {
      expected_.push_back({document.source, document.id, document.text, next_chunk_});
      next_chunk_ += chunks_of(document.text);
    }
  }

  DatabasePlace place() const { return {scratch_ / "database", scratch_ / "index"}; }
  const std::filesystem::path& directory() const { return scratch_.path(); }
  const CompactionSettings& settings() const { return settings_; }
  const ByteTokenizer& tokenizer() const { return tokenizer_; }
  ClusterEmbedder& embedder() { return embedder_; }
  std::vector<ExpectedDocument>& expected() { return expected_; }

  DatabaseChange add(const std::vector<RawDocument>& documents, bool replaces_present = false) {
    const DatabaseChange change = DatabaseWriter(place()).add(
        addition(documents, "new", replaces_present), tokenizer_, embedder_);
    for (const RawDocument& document : documents) {
      forget("new", document.id);
      expected_.push_back({"new", document.id, document.text, next_chunk_});
      next_chunk_ += chunks_of(document.text);
    }
    return change;
  }

  DatabaseChange remove(const std::string& source, const std::string& id) {
    DatabaseWriter writer(place());
    const std::vector<int64_t> found{writer.database().find_document(source, id)};
    forget(source, id);
    return writer.remove(found);
  }

  void compact() { DatabaseWriter(place()).compact(settings_); }

  void forget(const std::string& source, const std::string& id) {
    std::erase_if(expected_, [&](const auto& d) { return d.source == source && d.id == id; });
  }

  std::vector<float> key_of(const std::string& text) {
    std::vector<float> key(kWidth);
    std::vector<uint8_t> has_key(1);
    embedder_.embed(std::vector<std::string>{text}, key, has_key);
    return key;
  }

  /// Ids of the k nearest chunks, from the texts alone.
  std::vector<int64_t> nearest_by_hand(const std::vector<float>& query, size_t k) {
    std::vector<std::pair<double, int64_t>> all;
    for (const ExpectedDocument& document : expected_) {
      for (int64_t chunk = 0; chunk < chunks_of(document.text); ++chunk) {
        const std::string text = chunk_of(document.text, chunk);
        if (text.find_first_not_of(' ') == std::string::npos) continue;
        all.emplace_back(distance_in_double(key_of(text), query), document.first_chunk + chunk);
      }
    }
    std::ranges::sort(all);
    all.resize(std::min(k, all.size()));
    std::vector<int64_t> ids(k, kMissing);
    for (size_t i = 0; i < all.size(); ++i) ids[i] = all[i].second;
    return ids;
  }

  /// Every answer, table row and value is that of the expected documents.
  void expect_as_expected(const std::string& when) {
    SCOPED_TRACE(when);
    LiveDatabase live(place());
    const auto snapshot = live.newest();
    const RetrievalDatabase& database = *snapshot->database;
    EXPECT_NO_THROW(database.verify());
    ASSERT_EQ(database.num_live_documents(), static_cast<int64_t>(expected_.size()));
    for (const ExpectedDocument& document : expected_) {
      const int64_t found = database.find_document(document.source, document.id);
      ASSERT_GE(found, 0) << document.source << "/" << document.id;
      EXPECT_EQ(database.document(found).first_chunk, document.first_chunk);
      EXPECT_EQ(document_text(database, found, tokenizer_), document.text);
    }
    for (const std::string text : {"alpha", "beta", "gamma", "delta"}) {
      const std::vector<float> query = key_of(text);
      const Neighbours found = search(*snapshot->index, query, 5, {.num_probes = 1000});
      EXPECT_EQ(found.ids, nearest_by_hand(query, 5)) << text;
    }
  }

  static int64_t chunks_of(const std::string& text) {
    return (static_cast<int64_t>(text.size()) + kChunkLength - 1) / kChunkLength;
  }
  static std::string chunk_of(const std::string& text, int64_t chunk) {
    return text.substr(static_cast<size_t>(chunk * kChunkLength), kChunkLength);
  }

 private:
  ScratchDirectory scratch_;
  ByteTokenizer tokenizer_;
  ClusterEmbedder embedder_{kWidth};
  CompactionSettings settings_;
  std::vector<ExpectedDocument> expected_;
  int64_t next_chunk_ = 0;
};

}  // namespace retro::testing
