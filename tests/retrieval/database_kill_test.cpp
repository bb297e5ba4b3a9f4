// Changes of a database are killed before each write, sync, rename and removal, and at random
// moments: what was acknowledged stays, what was deleted does not come back, a change that was cut
// off has happened whole or not at all.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "life_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::ended_well;
using testing::killer;
using testing::LivingDatabase;
using testing::raw_document;
using testing::run_in_child;
using testing::was_killed;

const std::vector<testing::TestDocument> kKillDocuments{
    {"s", "a", "one two three"}, {"s", "b", "four five six"}, {"t", "c", "seven eight nine"}};

/// "SOURCE/ID" of what can be found, opened as any reader would.
std::set<std::string> names_in(const LivingDatabase& living) {
  LiveDatabase live(living.place());
  const auto snapshot = live.newest();
  snapshot->database->verify();
  std::set<std::string> names;
  for (int64_t d = 0; d < snapshot->database->num_documents(); ++d) {
    const DatabaseDocument& document = snapshot->database->document(d);
    if (!document.is_deleted) names.insert(document.source + "/" + document.id);
  }
  return names;
}

/// Copies database and index of `living` aside, so that every kill begins from the same state.
class Restorer {
 public:
  explicit Restorer(const LivingDatabase& living) : directory_(living.directory()) {
    fs::create_directories(directory_ / "kept");
    for (const char* name : {"database", "index"}) {
      fs::copy(directory_ / name, directory_ / "kept" / name, fs::copy_options::recursive);
    }
  }
  void restore() const {
    for (const char* name : {"database", "index", "index.next", "index.next.partial"}) {
      fs::remove_all(directory_ / name);
    }
    for (const char* name : {"database", "index"}) {
      fs::copy(directory_ / "kept" / name, directory_ / name, fs::copy_options::recursive);
    }
  }

 private:
  fs::path directory_;
};

/// Kills `change` at every call of the file layer. After each kill the names are `before` or
/// `after`, and `check` is called; the next change works either way. Returns the number of kills.
int kill_at_every_call(
    LivingDatabase& living, const std::function<void()>& change, const std::set<std::string>& after,
    const std::function<void()>& check = [] {}) {
  const Restorer restorer(living);
  const std::set<std::string> before = names_in(living);
  bool has_happened = false;
  for (int call = 0; call < 2000; ++call) {
    restorer.restore();
    const int status = run_in_child([&] {
      set_file_hook(killer(call));
      change();
    });
    SCOPED_TRACE("killed at call " + std::to_string(call));
    const std::set<std::string> found = names_in(living);
    EXPECT_TRUE(found == before || found == after);
    has_happened = has_happened || (found == after && before != after);
    EXPECT_EQ(found == after || before == after, has_happened || before == after)
        << "once happened, it has happened at every later call";
    check();
    {
      DatabaseWriter writer(living.place());
      writer.add(testing::addition({raw_document("next", "next document")}, "later"),
                 living.tokenizer(), living.embedder());
    }
    std::set<std::string> with_next = found;
    with_next.insert("later/next");
    EXPECT_EQ(names_in(living), with_next);
    if (ended_well(status)) return call;
    EXPECT_TRUE(was_killed(status)) << status;
    if (::testing::Test::HasFailure()) return call;
  }
  return -1;
}

TEST(DatabaseKill, AddHappensWholeOrNotAtAll) {
  LivingDatabase living(kKillDocuments);
  const int kills = kill_at_every_call(
      living,
      [&] {
        living.add({raw_document("x", "hello world"), raw_document("y", "and more")});
      },
      {"new/x", "new/y", "s/a", "s/b", "t/c"});
  // Five files of the shard and the manifest, written, synced and renamed each.
  EXPECT_GT(kills, 6 * 3);
}

TEST(DatabaseKill, UpdateHappensWholeOrNotAtAll) {
  LivingDatabase living(kKillDocuments);
  living.add({raw_document("x", "hello world")});
  living.add({raw_document("y", "and more, much longer than the first, to be a shard of its own")});
  const int kills = kill_at_every_call(
      living,
      [&] {
        living.add({raw_document("x", "hello again"), raw_document("z", "new")}, true);
      },
      {"new/x", "new/y", "new/z", "s/a", "s/b", "t/c"});
  EXPECT_GT(kills, 12 * 3) << "addition and merge";
}

TEST(DatabaseKill, DeleteHappensWholeOrNotAtAll) {
  LivingDatabase living(kKillDocuments);
  const int kills = kill_at_every_call(living, [&] { living.remove("s", "b"); }, {"s/a", "t/c"});
  EXPECT_GE(kills, 2 * 3);
}

TEST(DatabaseKill, CompactionLosesNothingAndBringsNothingBack) {
  for (const std::string type : {"exact", "ivf_flat"}) {
    LivingDatabase living(testing::random_documents(60, 6), type);
    living.add({raw_document("x", "hello world"), raw_document("y", "short")});
    living.remove("s", "3");
    living.remove("new", "x");
    const int kills = kill_at_every_call(
        living, [&] { living.compact(); }, names_in(living),
        [&] { living.expect_as_expected("every answer is as before"); });
    EXPECT_GT(kills, 12 * 3) << type;
  }
}

// A full disk, a lost mount, a medium that became read-only: an error at every call instead of a
// kill.
TEST(DatabaseKill, FailingWritesChangeNothing) {
  LivingDatabase living(kKillDocuments);
  living.remove("s", "a");
  const Restorer restorer(living);
  const std::set<std::string> before = names_in(living);
  std::set<std::string> after = before;
  after.insert("new/x");
  for (int call = 0; call < 2000; ++call) {
    restorer.restore();
    set_file_hook([left = call](std::string_view, const fs::path& path) mutable {
      if (left-- <= 0) throw Error(path.string() + ": no space left on device");
    });
    bool has_failed = false;
    try {
      DatabaseWriter writer(living.place());
      writer.add(testing::addition({raw_document("x", "hello world")}), living.tokenizer(),
                 living.embedder());
    } catch (const Error&) {
      has_failed = true;
    }
    set_file_hook({});
    const std::set<std::string> found = names_in(living);
    EXPECT_TRUE(found == before || found == after) << "failed at call " << call;
    if (!has_failed) {
      EXPECT_EQ(found, after);
      break;
    }
  }
}

/// Changes the database for as long as it lives, saying after each change what it has done.
[[noreturn]] void change_forever(const LivingDatabase& living, uint64_t seed, int to_parent) {
  testing::ClusterEmbedder embedder(LivingDatabase::kWidth);
  const std::string name_of_child = std::to_string(seed);
  for (int step = 0;; ++step) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    const std::string id = name_of_child + "-" + std::to_string(step);
    DatabaseWriter writer(living.place());
    std::string done;
    if (step % 7 == 6) {
      writer.compact(living.settings());
      done = "c\n";
    } else if (step % 3 == 2 && writer.database().num_live_documents() > 2) {
      int64_t victim = static_cast<int64_t>(seed >> 40) % writer.database().num_documents();
      while (writer.database().document(victim).is_deleted) {
        victim = (victim + 1) % writer.database().num_documents();
      }
      const std::string name =
          writer.database().document(victim).source + "/" + writer.database().document(victim).id;
      const std::string intent = "?" + name + "\n";
      if (::write(to_parent, intent.data(), intent.size()) < 0) ::_exit(1);
      writer.remove(std::vector<int64_t>{victim});
      done = "-" + name + "\n";
    } else {
      const std::string intent = "?new/" + id + "\n";
      if (::write(to_parent, intent.data(), intent.size()) < 0) ::_exit(1);
      writer.add(testing::addition({raw_document(id, testing::random_text(30, seed))}),
                 living.tokenizer(), embedder);
      done = "+new/" + id + "\n";
    }
    if (::write(to_parent, done.data(), done.size()) < 0) ::_exit(1);
  }
}

/// What a killed child said: names added and deleted for certain, and the one in doubt.
void apply_report(const std::string& report, std::set<std::string>& names, std::string& in_doubt) {
  in_doubt.clear();
  size_t begin = 0;
  for (size_t end = report.find('\n'); end != std::string::npos; end = report.find('\n', begin)) {
    const std::string line = report.substr(begin, end - begin);
    begin = end + 1;
    const std::string name = line.substr(1);
    in_doubt = line[0] == '?' ? name : "";
    if (line[0] == '+') names.insert(name);
    if (line[0] == '-') names.erase(name);
  }
}

TEST(DatabaseKill, RandomKillsLoseNothingAcknowledged) {
  const char* wanted = std::getenv("RETRO_RANDOM_KILLS");
  const int num_kills = wanted == nullptr ? 20 : std::atoi(wanted);
  LivingDatabase living(testing::random_documents(40, 4), "ivf_flat");
  std::set<std::string> names = names_in(living);
  uint64_t random = 99;
  for (int kill = 0; kill < num_kills; ++kill) {
    random = random * 6364136223846793005 + 1442695040888963407;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) change_forever(living, random, ends[1]);
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + (random >> 44) % 200'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(was_killed(status));
    std::string report;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
      report.append(buffer, static_cast<size_t>(n));
    }
    ::close(ends[0]);
    std::string in_doubt;
    apply_report(report, names, in_doubt);
    std::set<std::string> found = names_in(living);
    if (!in_doubt.empty()) {
      names.erase(in_doubt);
      if (found.contains(in_doubt)) names.insert(in_doubt);
    }
    ASSERT_EQ(found, names) << "after kill " << kill;
  }
}

}  // namespace
}  // namespace retro
