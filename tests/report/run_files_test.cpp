#include "run_files.h"

#include <gmock/gmock.h>

#include "report/run_directory.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunFilesTest : public RunDirectory {
 protected:
  RunFilesTest() {
    add("eval/knn.json", R"({"systems": [{"name": "RETRO"}]})");
    add("eval/qa.json", R"({"systems": [{"name": "open book"}]})");
    add("eval/result.json", R"({"groups": []})");
  }
  RunFiles read() const { return read_run_files({directory_ / "a run", stale_}); }
};

TEST_F(RunFilesTest, AStageThatIsSwitchedOffHasNoResult) {
  add("config.yaml", "knn:\n  enabled: false\nqa:\n  questions: \"\"\n");
  EXPECT_TRUE(read().knn.is_null());
  EXPECT_TRUE(read().questions.is_null());
  EXPECT_THAT(read().notes, IsEmpty());
  add("config.yaml", "knn:\n  enabled: true\nqa:\n  questions: q.jsonl\n");
  EXPECT_FALSE(read().knn.is_null());
  EXPECT_FALSE(read().questions.is_null());
}

TEST_F(RunFilesTest, StaleResultsAreLeftOutOrSaidToBeThat) {
  add("config.yaml", "knn:\n  enabled: true\nqa:\n  questions: q.jsonl\n");
  stale_ = {"eval", "knn"};
  EXPECT_TRUE(read().knn.is_null());
  EXPECT_FALSE(read().questions.is_null());
  EXPECT_FALSE(read().result.is_null());
  EXPECT_THAT(read().notes, ElementsAre(HasSubstr("knn.json was made from another configuration"),
                                        HasSubstr("these figures were made from another")));
  EXPECT_THAT(page(), HasSubstr("these figures were made from another configuration"));
}

TEST_F(RunFilesTest, AFolderWithoutAConfigurationShowsWhatItHolds) {
  EXPECT_FALSE(read().knn.is_null());
  EXPECT_FALSE(read().questions.is_null());
}

}  // namespace
}  // namespace retro
