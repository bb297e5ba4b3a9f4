// A disk that fills up, page by page, and a medium that becomes read-only: every operation is
// refused with a reason, and leaves the state it found.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "retro/retrieval/verification.h"

#include "life_test_support.h"
#include "small_disk.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::LivingDatabase;
using testing::raw_document;
using testing::SmallDisk;

constexpr size_t kDiskBytes = size_t{8} << 20;

/// Everything an operation may change, and queries for a neighbour table.
struct World {
  LivingDatabase living{testing::random_documents(60, 6), "ivf_flat"};
  testing::TestCorpus corpus{living.directory(), testing::random_documents(40, 5), "queries"};
  ChunkGrid grid = corpus.grid(LivingDatabase::kChunkLength);

  World() {
    living.add({raw_document("x", "hello world"), raw_document("y", "of few words")});
    living.remove("s", "3");
  }
  fs::path path(const std::string& name) const { return living.directory() / name; }

  void build() {
    build_database(grid, living.tokenizer(), living.embedder(),
                   testing::database_config(LivingDatabase::kChunkLength), path("other"));
  }
  void neighbours() {
    LiveDatabase live(living.place());
    const auto snapshot = live.newest();
    const GridKeys keys = load_or_embed_keys(grid, *snapshot->database, living.tokenizer(),
                                             living.embedder(), path("keys"));
    build_neighbour_table(grid, keys, *snapshot->index, Exclusion::kDocument, 3, 1, path("table"));
  }
  /// What a reader finds: version and answers; "whole" of what else there is.
  std::string state() {
    LiveDatabase live(living.place());
    const auto snapshot = live.newest();
    snapshot->database->verify();
    verify_index(living.place().index);
    std::string text = snapshot->database->version();
    for (const int64_t id : testing::search(*snapshot->index, living.key_of("alpha"), 5).ids) {
      text += " " + std::to_string(id);
    }
    if (fs::exists(path("other"))) RetrievalDatabase(path("other")).verify();
    if (fs::exists(path("table"))) {
      verify_neighbour_table(path("table"), grid.hash());
    }
    return text;
  }
};

using Operation = std::function<void(World&)>;

const std::vector<std::pair<std::string, Operation>> kOperations{
    {"build", [](World& world) { world.build(); }},
    {"add",
     [](World& world) {
       DatabaseWriter(world.living.place())
           .add(testing::addition({raw_document("z", testing::random_text(4000, 3))}),
                world.living.tokenizer(), world.living.embedder());
     }},
    {"delete",
     [](World& world) {
       DatabaseWriter writer(world.living.place());
       writer.remove(std::vector<int64_t>{writer.database().find_document("s", "5")});
     }},
    {"compact",
     [](World& world) { DatabaseWriter(world.living.place()).compact(world.living.settings()); }},
    {"neighbours", [](World& world) { world.neighbours(); }}};

/// What the operation is refused with, or nothing.
std::string refusal(World& world, const Operation& operation) {
  try {
    operation(world);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void require(bool condition, const std::string& what) {
  if (condition) return;
  fprintf(stderr, "%s\n", what.c_str());
  ::_exit(2);
}

/// The disk has 0, 1, 2, ... free pages until the operation succeeds.
void fill_up(const fs::path& where, const Operation& operation) {
  const SmallDisk disk(where, kDiskBytes);
  ::setenv("TMPDIR", disk.path().c_str(), 1);
  int num_refused = 0;
  for (size_t pages = 0;; ++pages) {
    World world;
    const std::string before = world.state();
    disk.leave_free(pages * SmallDisk::kPageBytes);
    const std::string reason = refusal(world, operation);
    disk.free_all();
    const std::string after = world.state();
    if (reason.empty()) break;
    ++num_refused;
    require(reason.find("No space left on device") != std::string::npos ||
                reason.find("are free") != std::string::npos,
            "refused with: " + reason);
    require(after == before, "changed although refused with: " + reason);
    require(refusal(world, operation).empty(), "does not work with room again");
    world.state();
  }
  require(num_refused > 0, "never refused");
}

void become_read_only(const fs::path& where, const Operation& operation) {
  const SmallDisk disk(where, kDiskBytes);
  ::setenv("TMPDIR", disk.path().c_str(), 1);
  World world;
  const std::string before = world.state();
  require(disk.make_read_only(), "cannot remount");
  const std::string reason = refusal(world, operation);
  require(reason.find("Read-only file system") != std::string::npos, "refused with: " + reason);
  require(world.state() == before, "readers need no write");
}

class DatabaseMedia : public ::testing::TestWithParam<std::pair<std::string, Operation>> {
 protected:
  void SetUp() override {
    if (!testing::can_mount()) {
      GTEST_SKIP() << "no file system can be mounted here; DatabaseKill.FailingWritesChangeNothing "
                      "fails the calls instead";
    }
  }
  testing::ScratchDirectory scratch_;
};

TEST_P(DatabaseMedia, AFullDiskChangesNothing) {
  EXPECT_TRUE(testing::ended_well(
      testing::run_in_child([&] { fill_up(scratch_.path(), GetParam().second); })));
}

TEST_P(DatabaseMedia, AReadOnlyMediumIsReadAndNotChanged) {
  EXPECT_TRUE(testing::ended_well(
      testing::run_in_child([&] { become_read_only(scratch_.path(), GetParam().second); })));
}

INSTANTIATE_TEST_SUITE_P(Operations, DatabaseMedia, ::testing::ValuesIn(kOperations),
                         [](const auto& operation) { return operation.param.first; });

}  // namespace
}  // namespace retro
