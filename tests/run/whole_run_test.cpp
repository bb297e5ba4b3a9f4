// Stages asked for by name: they repair what is damaged, follow changes of the database, and lose
// nothing.
#include "retro/run/whole_run.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/retrieval/database_writer.h"
#include "retro/run/database_facts.h"
#include "retro/run/database_life.h"
#include "retro/run/stages.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;

const std::vector<std::string> kDatabaseStages{"database", "index", "neighbours.training"};

class WholeRun : public ::testing::Test {
 protected:
  WholeRun() {
    EXPECT_EQ(execute_stages(config_, {"tokenizer", "corpus"}), 0);
    EXPECT_EQ(execute_stages(config_, kDatabaseStages), 0);
  }
  void add_a_note() const {
    write_file(small_.path("note.txt"), "bees in winter gardens");
    add_to_database(config_, {small_.path("note.txt")}, "notes", false);
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
  fs::path run_ = config_.directory;
};

TEST_F(WholeRun, FinishedStagesRepairWhatIsDamaged) {
  for (const char* name :
       {"database/shard_000000/keys.bin", "index/index.json", "neighbours/training/train/ids.bin",
        "neighbours/training/keys_train_0/keys.bin"}) {
    const std::string content = testing::slurp(run_ / name);
    testing::spill(run_ / name, testing::damaged_at(content, content.size() - 3)[0]);
    EXPECT_NE(error_of([&] { verify_database(config_); }), "") << name;
    EXPECT_EQ(execute_stages(config_, kDatabaseStages), 0);
    EXPECT_EQ(verify_database(config_).num_stale_tables, 0) << name;
  }
}

TEST_F(WholeRun, FinishedTablesFollowAnAddition) {
  add_a_note();
  EXPECT_GT(verify_database(config_).num_stale_tables, 0) << "tables of an older state";
  EXPECT_EQ(execute_stages(config_, {"neighbours.training"}), 0);
  EXPECT_EQ(verify_database(config_).num_stale_tables, 0);
}

TEST_F(WholeRun, AnotherDatabaseTakesItsIndexAndTablesWithIt) {
  config_.database.key_storage = "float32";
  EXPECT_EQ(execute_stages(config_, kDatabaseStages), 0);
  EXPECT_EQ(RetrievalDatabase(run_ / "database").key_storage(), "float32");
  EXPECT_EQ(verify_database(config_).num_stale_tables, 0);
}

TEST_F(WholeRun, AChangedDatabaseIsNotBuiltOver) {
  add_a_note();
  const std::string saved = testing::slurp(run_ / "config.yaml");
  config_.database.key_storage = "float32";
  EXPECT_THAT(error_of([&] { execute_stages(config_, {"database"}); }),
              HasSubstr("would undo that"));
  EXPECT_THAT(error_of([&] { execute_run(config_); }), HasSubstr("would undo that"));
  EXPECT_EQ(testing::slurp(run_ / "config.yaml"), saved) << "what was refused is not its own";
  const RetrievalDatabase database(run_ / "database");
  EXPECT_EQ(database.num_live_documents(), 31);
}

TEST_F(WholeRun, TablesThatNoConfigurationNamesAreRemoved) {
  const fs::path old = run_ / "neighbours/training/shift_7";
  fs::copy(run_ / "neighbours/training/train", old, fs::copy_options::recursive);
  EXPECT_EQ(execute_neighbours_stage(config_, training_neighbour_sets(config_)), 0);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(verify_database(config_).num_stale_tables, 0);
}

TEST_F(WholeRun, TheIndexIsNotBuiltWhileTheDatabaseChanges) {
  const DatabaseWriter writer(database_place(config_));
  EXPECT_THAT(error_of([&] { execute_index_stage(config_); }), HasSubstr("is being changed by"));
}

TEST_F(WholeRun, WithoutTextNothingIsTouched) {
  const std::string before = testing::slurp(run_ / "config.yaml");
  config_.corpus.sources.clear();
  for (const auto& execute :
       {+[](const RunConfig& config) { execute_run(config); },
        +[](const RunConfig& config) { execute_stages(config, {"corpus"}); }}) {
    EXPECT_THAT(error_of([&] { execute(config_); }), HasSubstr("no text to run from"));
    EXPECT_EQ(testing::slurp(run_ / "config.yaml"), before);
    EXPECT_TRUE(fs::exists(run_ / "tokenizer.model"));
  }
}

// The state that a compaction leaves when it is cut off just before it puts its index in place.
TEST_F(WholeRun, AnIndexThatIsNotInPlaceYetIsDescribed) {
  const std::string before = describe_database(config_);
  fs::rename(run_ / "index", run_ / "index.next");
  EXPECT_EQ(describe_database(config_), before);
}

}  // namespace
}  // namespace retro
