// A run directory and a bundle are read on another CPU than the one that built their database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/run/database_facts.h"
#include "retro/run/database_life.h"
#include "retro/run/query.h"
#include "retro/run/run_bundle.h"
#include "retro/run/run_embedder.h"
#include "retro/run/whole_run.h"

#include "run/small_run.h"

namespace retro {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kStages{"tokenizer", "corpus", "database", "index",
                                       "neighbours.training"};

/// The precision of the keys: whatever `auto` means on the CPU that runs this test, one of the two
/// is that of another.
class MovedRun : public ::testing::TestWithParam<std::string> {
 protected:
  RunConfig config(const std::string& precision) const {
    return load_run_config(small_.path("run.yaml"),
                           {"embed.model=" RETRO_TEST_DATA "/embed/random_bert",
                            "embed.precision=" + precision, "train.precision=auto"});
  }
  /// A chunk's own text is nearest to it, but for the rounding of stored keys to float16.
  static void expect_chunks_are_found(const RunConfig& config) {
    for (const char* const text : {testing::SmallRun::kMark, "winter garden", "river stone"}) {
      const auto chunk = query_database(config, text, 1);
      ASSERT_EQ(chunk.size(), 1U);
      const auto again = query_database(config, chunk.front().text, 1);
      EXPECT_EQ(again.front().text, chunk.front().text);
      EXPECT_LT(again.front().distance, 1e-4F);
    }
  }
  testing::SmallRun small_;
};

TEST_P(MovedRun, IsReadWithThePrecisionOfItsKeys) {
  ASSERT_EQ(execute_stages(config(GetParam()), kStages), 0);
  const RunConfig moved = config("auto");
  EXPECT_THAT(database_facts(moved).embedder, HasSubstr(":" + GetParam() + ":"));
  expect_chunks_are_found(moved);
  write_file(small_.path("note.txt"), "a note on bees");
  EXPECT_EQ(add_to_database(moved, {small_.path("note.txt")}, "notes", false).documents_added, 1);
  EXPECT_EQ(refresh_neighbours(moved).size(), 2U);
  EXPECT_EQ(verify_database(moved).num_stale_tables, 0);
}

TEST_P(MovedRun, IsNoReasonForAnotherDatabase) {
  ASSERT_EQ(execute_stages(config(GetParam()), kStages), 0);
  const std::string before = database_facts(config("auto")).version;
  ASSERT_EQ(execute_stages(config("auto"), {"database", "index"}), 0);
  EXPECT_EQ(database_facts(config("auto")).version, before);
}

TEST_P(MovedRun, BundlesNameThePrecisionOfTheirKeys) {
  ASSERT_EQ(execute_stages(config(GetParam()), kStages), 0);
  ASSERT_EQ(execute_stages(config(GetParam()), {"train.retro"}), 0);
  bundle_run(config("auto"), small_.path("x.retro"), {});
  const RunConfig packed = load_run_config(small_.path("x.retro"), {});
  EXPECT_EQ(packed.embed.precision, GetParam());
  expect_chunks_are_found(packed);
}

INSTANTIATE_TEST_SUITE_P(Precisions, MovedRun, ::testing::Values("float32", "bfloat16"));

TEST(RunEmbedder, WithoutADatabaseAutoStays) {
  const testing::SmallRun small;
  EXPECT_EQ(settled_embed(small.config()).precision, "auto");
}

}  // namespace
}  // namespace retro
