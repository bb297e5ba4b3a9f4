// A deleted document's bytes are in no file of the database, its index and its neighbour tables
// after a compaction: neither text nor tokens, keys or names.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "life_test_support.h"

namespace retro {
namespace {

using testing::LivingDatabase;
using testing::raw_document;

/// Stretches of bytes by which a document could be recognised.
struct Traces {
  std::vector<std::string> bytes;

  template <class T>
  void add(const std::vector<T>& values) {
    bytes.emplace_back(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
};

Traces traces_of(LivingDatabase& living, const std::string& id, const std::string& text) {
  Traces traces;
  traces.bytes = {"title of " + id, text};
  for (int64_t chunk = 0; chunk < LivingDatabase::chunks_of(text); ++chunk) {
    const std::string part = LivingDatabase::chunk_of(text, chunk);
    if (part.size() < LivingDatabase::kChunkLength) continue;
    const std::vector<uint32_t> tokens(part.begin(), part.end());
    traces.add(tokens);
    traces.add(living.key_of(part));
  }
  return traces;
}

/// Files below `directory` that hold any of the traces.
std::vector<std::string> files_with(const std::filesystem::path& directory, const Traces& traces) {
  std::vector<std::string> found;
  for (const auto& [name, content] : testing::tree_of(directory)) {
    if (name.ends_with(".jsonl") && !name.starts_with("database")) continue;  // the test's corpus
    for (const std::string& trace : traces.bytes) {
      if (content.find(trace) == std::string::npos) continue;
      found.push_back(name);
      break;
    }
  }
  return found;
}

TEST(DatabasePrivacy, CompactionLeavesNoByteOfADeletedDocument) {
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    LivingDatabase living(testing::random_documents(200, 4), type, 90);
    std::filesystem::remove_all(living.directory() / "corpus");
    const std::string text = "the secret of the house on the hill";
    living.add({raw_document("secret", text, R"({"owner":"somebody"})"),
                raw_document("other", "nothing to hide in this one")});
    living.compact();  // so that the index knows it too
    const std::string base_id = "7";
    const std::string base_text = testing::random_text(16, 1 + 1000 * 7);
    Traces traces = traces_of(living, "secret", text);
    traces.bytes.push_back("somebody");
    for (const std::string& trace : traces_of(living, base_id, base_text).bytes) {
      if (trace != "title of 7") traces.bytes.push_back(trace);
    }
    EXPECT_FALSE(files_with(living.directory(), traces).empty())
        << "the search finds what is there";
    living.remove("new", "secret");
    living.remove("s", base_id);
    living.compact();
    EXPECT_EQ(files_with(living.directory(), traces), std::vector<std::string>{}) << type;
    living.expect_as_expected(type);
  }
}

TEST(DatabasePrivacy, WhatAKilledBuildLeftGoesToo) {
  LivingDatabase living(testing::random_documents(40, 4));
  const std::filesystem::path partial = living.place().database.string() + ".partial";
  std::filesystem::create_directories(partial / "shard_000000");
  testing::spill(partial / "shard_000000" / "tokens.bin", "whatever");
  living.add({raw_document("x", "hello world")});
  living.compact();
  EXPECT_FALSE(std::filesystem::exists(partial));
}

}  // namespace
}  // namespace retro
