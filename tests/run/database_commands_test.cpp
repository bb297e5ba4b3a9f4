// What the commands of a run's database take, refuse and print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/run/database_json.h"

#include "run/small_run.h"

namespace retro {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class DatabaseCommands : public ::testing::Test {
 protected:
  DatabaseCommands() {
    EXPECT_EQ(execute_stages(config_, {"tokenizer", "corpus", "database", "index"}), 0);
  }
  testing::SmallRun small_;
  RunConfig config_ = small_.config();
};

TEST_F(DatabaseCommands, DeletionNeedsACondition) {
  const char* const expected = "nothing says what to delete";
  EXPECT_THAT(error_of([&] { find_in_database(config_, {}); }), HasSubstr(expected));
  EXPECT_THAT(error_of([&] { delete_from_database(config_, {}); }), HasSubstr(expected));
}

TEST_F(DatabaseCommands, ASourceIsThatOfTheLineUnlessOneIsGiven) {
  write_file(small_.path("lines.jsonl"),
             "{\"id\": \"1\", \"source\": \"a\", \"text\": \"bees in winter\"}\n"
             "{\"id\": \"1\", \"source\": \"b\", \"text\": \"a stone house\"}\n"
             "{\"id\": \"2\", \"text\": \"a letter\"}\n");
  EXPECT_EQ(add_to_database(config_, {small_.path("lines.jsonl")}, "", false).documents_added, 3);
  for (const char* source : {"a", "b", "added"}) {
    EXPECT_EQ(find_in_database(config_, {.sources = {source}}).size(), 1U) << source;
  }
  EXPECT_THAT(
      error_of([&] { add_to_database(config_, {small_.path("lines.jsonl")}, "mine", false); }),
      HasSubstr("lines.jsonl:2: duplicate id \"1\""));
}

TEST_F(DatabaseCommands, PrintJson) {
  write_file(small_.path("note.txt"), "bees in winter gardens");
  const std::string id = small_.path("note.txt").string();
  const auto added = to_json(add_to_database(config_, {id}, "notes", false));
  EXPECT_EQ(added.at("documents_added"), 1);
  EXPECT_EQ(added.at("chunks_added"), database_facts(config_).num_added_chunks);
  const auto facts = to_json(database_facts(config_));
  EXPECT_EQ(facts.at("documents"), 31);
  EXPECT_EQ(facts.at("chunk_length"), 16);
  EXPECT_EQ(facts.at("changes"), 1);
  const auto found = to_json(find_in_database(config_, {.sources = {"notes"}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at(0).at("id"), id);
  const auto verification = to_json(verify_database(config_));
  EXPECT_EQ(verification.at("documents"), 31);
  EXPECT_EQ(verification.at("recall_at_10"), 1.0);
  EXPECT_EQ(verification.at("stale_tables"), 0);
}

}  // namespace
}  // namespace retro
