// A small trained run, packed: the bundle answers like the run, wherever it lies.
#include "retro/run/run_bundle.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/run/database_facts.h"
#include "retro/run/database_life.h"
#include "retro/run/query.h"
#include "retro/run/sampling.h"
#include "retro/run/whole_run.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

class RunBundleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    small_ = new testing::SmallRun;
    ASSERT_TRUE(small_->make());
    bundle_run(run(), bundle(), {});
  }
  static void TearDownTestSuite() { delete small_; }

  static fs::path path(const std::string& name) { return small_->path(name); }
  static fs::path bundle() { return path("x.retro"); }
  static RunConfig run() { return small_->config(); }
  static std::string sampled(const RunConfig& config) {
    RunSampler sampler(config);
    const Generation generation = sampler.sample(config.sample);
    EXPECT_FALSE(generation.chunks.empty());
    std::string text = generation.text;
    for (const ChunkView& chunk : generation.chunks) {
      text += format_chunk(chunk, sampler.tokenizer(), false);
    }
    return text;
  }

  static inline testing::SmallRun* small_ = nullptr;
};

TEST_F(RunBundleTest, SamplesAndAnswersLikeItsRun) {
  const RunConfig packed = load_run_config(bundle(), {});
  EXPECT_EQ(packed.sample.prompt, "the river");
  EXPECT_EQ(sampled(packed), sampled(run()));
  const auto expected = query_database(run(), "winter garden", 3);
  const auto found = query_database(packed, "winter garden", 3);
  ASSERT_EQ(found.size(), 3U);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].chunk_id, expected[i].chunk_id);
    EXPECT_EQ(found[i].text, expected[i].text);
  }
  EXPECT_NO_THROW(verify_database(packed));
  EXPECT_THAT(describe_database(packed), HasSubstr("30 documents"));
}

TEST_F(RunBundleTest, IsComplete) {
  const fs::path moved = path("elsewhere") / "moved.retro";
  fs::create_directory(moved.parent_path());
  fs::copy_file(bundle(), moved);
  const fs::path away = path("away");
  fs::rename(path("run"), away);
  const std::string text = sampled(load_run_config(moved, {}));
  fs::rename(away, path("run"));
  EXPECT_EQ(text, sampled(run()));
}

TEST_F(RunBundleTest, NothingInItCanBeChanged) {
  const RunConfig packed = load_run_config(bundle(), {});
  write_file(path("note.txt"), "a note");
  EXPECT_THAT(error_of([&] { add_to_database(packed, {path("note.txt")}, "notes", false); }),
              HasSubstr("a bundle does not change; unpack it"));
  EXPECT_THAT(error_of([&] { compact_database(packed); }), HasSubstr("a bundle does not change"));
  EXPECT_THAT(error_of([&] { execute_run(packed); }), HasSubstr("a bundle does not change"));
  EXPECT_THAT(error_of([&] { bundle_run(packed, path("y"), {}); }),
              HasSubstr("is a bundle already"));
}

TEST_F(RunBundleTest, UnpackedItIsARunWhoseDatabaseLives) {
  const fs::path out = path("unpacked");
  fs::create_directory(out);
  ASSERT_EQ(std::system(("tar -xf " + bundle().string() + " -C " + out.string()).c_str()), 0);
  const RunConfig config = load_run_config(out, {});
  EXPECT_EQ(sampled(config), sampled(run()));
  write_file(path("note.txt"), "a note on bees");
  add_to_database(config, {path("note.txt")}, "notes", false);
  DocumentSelection notes;
  notes.sources = {"notes"};
  EXPECT_EQ(query_database(config, "bees", 1, notes).size(), 1U);
  EXPECT_EQ(delete_from_database(config, notes).documents_deleted, 1);
  EXPECT_THAT(error_of([&] { bundle_run(config, path("y"), {}); }),
              HasSubstr("1 deleted documents are still on disk"));
  compact_database(config);
  EXPECT_GT(bundle_run(config, path("y"), {}).database, 0U);
}

TEST_F(RunBundleTest, UnpackedItHasNoTextToRunFrom) {
  const fs::path out = path("textless");
  fs::create_directory(out);
  ASSERT_EQ(std::system(("tar -xf " + bundle().string() + " -C " + out.string()).c_str()), 0);
  EXPECT_THAT(error_of([&] { execute_run(load_run_config(out, {})); }),
              HasSubstr("no text to run from"));
  EXPECT_TRUE(fs::exists(out / "tokenizer.model"));
}

TEST_F(RunBundleTest, FilesBesideItAreLeftAlone) {
  write_file(path("z.weights"), "of the user");
  bundle_run(run(), path("z"), {});
  EXPECT_EQ(testing::slurp(path("z.weights")), "of the user");
  for (const auto& entry : fs::directory_iterator(small_->directory())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp-")));
  }
}

TEST_F(RunBundleTest, DamageIsNamed) {
  std::string bytes = testing::slurp(bundle());
  const Bundle packed(bundle());
  for (const BundleMember& member : packed.members()) {
    std::string damaged = bytes;
    damaged[member.offset + member.size_bytes / 2] ^= 4;
    const fs::path damaged_path = path("damaged.retro");
    testing::spill(damaged_path, damaged);
    EXPECT_THAT(error_of([&] { verify_database(load_run_config(damaged_path, {})); }),
                HasSubstr("damaged.retro/" + member.name));
  }
}

}  // namespace
}  // namespace retro
