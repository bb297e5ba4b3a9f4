// A refresh of a neighbour table is killed before each write, sync, rename and removal, and at
// random moments while the database lives on: the table is that of the old state or of the new one,
// whole, and brought up to date equals one computed anew.
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "retro/retrieval/verification.h"

#include "life_test_support.h"
#include "table_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::ended_well;
using testing::LivingDatabase;
using testing::raw_document;
using testing::run_in_child;
using testing::was_killed;

class TableKill : public ::testing::Test {
 protected:
  static constexpr int64_t kNeighbours = 4;

  fs::path path(const std::string& name) const { return living_.directory() / name; }

  void refresh() {
    LiveDatabase live(living_.place());
    const auto snapshot = live.newest();
    const GridKeys keys = load_or_embed_keys(grid_, *snapshot->database, living_.tokenizer(),
                                             living_.embedder(), path("keys"));
    refresh_neighbour_table(grid_, keys, *snapshot->index, Exclusion::kDocument, kNeighbours, 1,
                            path("table"));
  }

  /// "ids.bin" and so on of a table computed anew for the database as it is.
  std::map<std::string, std::string> computed_anew() {
    LiveDatabase live(living_.place());
    const auto snapshot = live.newest();
    fs::remove_all(path("anew"));
    const GridKeys keys = load_or_embed_keys(grid_, *snapshot->database, living_.tokenizer(),
                                             living_.embedder(), path("anew_keys"));
    build_neighbour_table(grid_, keys, *snapshot->index, Exclusion::kDocument, kNeighbours, 1,
                          path("anew"));
    return testing::tree_of(path("anew"));
  }

  /// A table is whole, whichever state it belongs to.
  std::string expect_whole() { return verify_neighbour_table(path("table"), grid_.hash()); }

  std::string database_version() const {
    return RetrievalDatabase(living_.place().database).version();
  }

  LivingDatabase living_{testing::random_documents(60, 5)};
  testing::TestCorpus corpus_{living_.directory(), testing::random_documents(40, 5), "queries"};
  ChunkGrid grid_ = corpus_.grid(LivingDatabase::kChunkLength);
};

TEST_F(TableKill, RefreshHappensWholeOrNotAtAll) {
  refresh();
  const std::string before = database_version();
  fs::copy(path("table"), path("kept_table"));
  fs::copy(path("keys"), path("kept_keys"));
  living_.add({raw_document("x", testing::random_text(80, 3))});
  living_.remove("s", "2");
  const auto expected = computed_anew();
  int num_kills = 0;
  bool is_done = false;
  for (; !is_done; ++num_kills) {
    ASSERT_LT(num_kills, 500);
    for (const std::string name : {"table", "keys"}) {
      fs::remove_all(path(name));
      fs::remove_all(path(name + ".partial"));
      fs::copy(path("kept_" + name), path(name));
    }
    const int status = run_in_child([&] {
      set_file_hook(testing::killer(num_kills));
      refresh();
    });
    is_done = ended_well(status);
    ASSERT_TRUE(is_done || was_killed(status)) << status;
    const std::string found = expect_whole();
    ASSERT_TRUE(found == before || found == database_version()) << "killed at call " << num_kills;
    refresh();
    ASSERT_EQ(testing::tree_of(path("table")), expected) << "killed at call " << num_kills;
  }
  EXPECT_GT(num_kills, 2 * 5 * 3) << "keys and table: written, synced, renamed";
}

TEST_F(TableKill, RandomKillsLeaveAWholeTable) {
  const char* wanted = std::getenv("RETRO_RANDOM_KILLS");
  const int num_kills = wanted == nullptr ? 20 : std::atoi(wanted);
  refresh();
  uint64_t random = 7;
  std::set<std::string> versions{database_version()};
  int num_interrupted = 0;
  for (int kill = 0; kill < num_kills; ++kill) {
    random = random * 6364136223846793005 + 1442695040888963407;
    living_.add({raw_document(std::to_string(kill), testing::random_text(40, random))});
    if (kill % 3 == 2) living_.remove("new", std::to_string(kill - 1));
    if (kill % 10 == 9) living_.compact();
    versions.insert(database_version());
    const pid_t child = ::fork();
    if (child == 0) {
      refresh();
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds((random >> 44) % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(was_killed(status) || ended_well(status));
    num_interrupted += was_killed(status) ? 1 : 0;
    ASSERT_TRUE(versions.contains(expect_whole())) << "after kill " << kill;
    if (kill % 4 != 3) continue;
    refresh();
    ASSERT_EQ(testing::tree_of(path("table")), computed_anew()) << "after kill " << kill;
  }
  EXPECT_GT(num_interrupted, num_kills / 4) << "most refreshes are killed before their end";
}

}  // namespace
}  // namespace retro
