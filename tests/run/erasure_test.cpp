// A deleted document is in no file of its run, those aside that `delete` names as not erased.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/half.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/run/database_life.h"
#include "retro/run/stages.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Stretches of bytes by which the document could be recognised: its text, and tokens and key of
/// its first chunk.
std::vector<std::string> traces_of(const RunConfig& config, const std::string& source,
                                   const std::string& id, const std::string& text) {
  const RetrievalDatabase database(RunPaths(config).database());
  const int64_t number = database.find_document(source, id);
  EXPECT_GE(number, 0);
  const int64_t chunk = database.document(number).first_chunk;
  const auto tokens = database.tokens(chunk);
  std::vector<float> key(static_cast<size_t>(database.key_width()));
  database.copy_keys(chunk, chunk + 1, key);
  std::vector<uint16_t> half_key;
  for (const float value : key) half_key.push_back(float16_from_float(value));
  return {text, bytes_of(std::vector<uint32_t>(tokens.begin(), tokens.end())), bytes_of(key),
          bytes_of(half_key)};
}

/// Files of the run that hold a trace, but those below `known`.
std::vector<std::string> files_with(const RunConfig& config, const std::vector<std::string>& traces,
                                    const std::vector<fs::path>& known) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(config.directory)) {
    const std::string name = entry.path().string();
    const bool is_known = std::ranges::any_of(
        known, [&](const fs::path& path) { return name.starts_with(path.string()); });
    if (!entry.is_regular_file() || is_known) continue;
    const std::string content = testing::slurp(entry.path());
    for (const std::string& trace : traces) {
      if (content.find(trace) == std::string::npos) continue;
      found.push_back(name);
      break;
    }
  }
  return found;
}

void erase(const RunConfig& config, const std::string& id) {
  DocumentSelection selection;
  selection.ids = {id};
  EXPECT_EQ(delete_from_database(config, selection).documents_deleted, 1);
  compact_database(config);
  refresh_neighbours(config);
}

TEST(Erasure, OfAnAddedDocumentLeavesNothing) {
  const testing::SmallRun small;
  ASSERT_TRUE(small.make());
  const RunConfig config = small.config();
  const std::string text = "quixotic wombats juggle lavender behind the glacier";
  write_file(small.path("secret.txt"), text);
  const std::string id = small.path("secret.txt").string();
  add_to_database(config, {id}, "notes", false);
  refresh_neighbours(config);  // training chunks may find it
  execute_sample_stage(config);
  write_file(RunPaths(config).comparison(), "<p>" + text + "</p>");  // a page of several runs
  const auto traces = traces_of(config, "notes", id, "quixotic wombats");
  EXPECT_FALSE(files_with(config, traces, {}).empty()) << "the search finds what is there";
  erase(config, id);
  EXPECT_EQ(files_with(config, traces, files_not_erased(config, false)),
            std::vector<std::string>{});
  EXPECT_THAT(files_not_erased(config, false), ::testing::Contains(RunPaths(config).comparison()));
  EXPECT_EQ(verify_database(config).num_stale_tables, 0) << "every table is up to date";
}

TEST(Erasure, OfADocumentOfTheCorpusNamesWhatWasMadeFromIt) {
  const testing::SmallRun small;
  ASSERT_TRUE(small.make());
  const RunConfig config = small.config();
  const auto traces =
      traces_of(config, "stored", testing::SmallRun::kMarkedId, testing::SmallRun::kMark);
  erase(config, testing::SmallRun::kMarkedId);
  const auto known = files_not_erased(config, true);
  EXPECT_EQ(files_with(config, traces, known), std::vector<std::string>{});
  EXPECT_FALSE(files_with(config, traces, {}).empty()) << "the corpus goes on holding it";
  for (const fs::path& path : known) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST(Erasure, NoTableNamesADeletedChunk) {
  const testing::SmallRun small;
  ASSERT_TRUE(small.make());
  const RunConfig config = small.config();
  const RetrievalDatabase before(RunPaths(config).database());
  const DatabaseDocument& document =
      before.document(before.find_document("stored", testing::SmallRun::kMarkedId));
  const int64_t first = document.first_chunk;
  const int64_t last = first + document.num_chunks - 1;
  erase(config, testing::SmallRun::kMarkedId);
  int num_tables = 0;
  for (const auto& entry : fs::recursive_directory_iterator(config.directory + "/neighbours")) {
    if (entry.path().filename() != "ids.bin") continue;
    ++num_tables;
    const ArrayFile ids(entry.path(), {.kind = "nb-ids", .type = ArrayType::kInt64});
    for (const int64_t id : ids.values<int64_t>()) EXPECT_FALSE(id >= first && id <= last) << id;
  }
  EXPECT_GE(num_tables, 1);
}

}  // namespace
}  // namespace retro
