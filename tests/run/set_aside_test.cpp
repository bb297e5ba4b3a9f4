// What a stage made before is not lost to a new configuration that fails, is killed, or was a
// mistake.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "retro/core/file_system.h"
#include "retro/run/stage_graph.h"

#include "core/test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::slurp;

const std::string kFirst = "width: 8", kSecond = "width: 16", kThird = "width: 32";

class SetAside : public ::testing::Test {
 protected:
  SetAside() { make(kFirst); }

  StageGraph graph(const std::string& config) const {
    Stage model;
    model.name = model.title = "model";
    model.config = config;
    model.outputs = {scratch_ / "model"};
    model.keeps_earlier = true;
    StageGraph graph(scratch_ / "run", {model});
    graph.recover();
    return graph;
  }

  void write_model(const std::string& config) const {
    fs::create_directories(scratch_ / "model");
    write_file(scratch_ / "model" / "weights", config);
  }
  void make(const std::string& config) const {
    const StageGraph now = graph(config);
    now.begin("model");
    write_model(config);
    now.finish("model", 1.5);
  }
  void expect_finished(const std::string& config) const {
    const StageGraph now = graph(config);
    ASSERT_EQ(now.state("model"), StageState::kFinished);
    now.restore();
    EXPECT_EQ(now.state("model"), StageState::kFinished);
    EXPECT_EQ(slurp(scratch_ / "model" / "weights"), config);
    EXPECT_DOUBLE_EQ(now.seconds("model"), 1.5);
    EXPECT_FALSE(fs::exists(scratch_ / "model.old"));
  }

  testing::ScratchDirectory scratch_;
};

TEST_F(SetAside, ItStaysUntilTheNewOneIsFinished) {
  const StageGraph second = graph(kSecond);
  second.begin("model");
  EXPECT_FALSE(fs::exists(scratch_ / "model")) << "the new one begins from nothing";
  write_model(kSecond);
  EXPECT_EQ(slurp(scratch_ / "model.old" / "weights"), kFirst);
  second.finish("model", 1.5);
  expect_finished(kSecond);
  EXPECT_EQ(graph(kFirst).state("model"), StageState::kStale);
}

TEST_F(SetAside, ItComesBackAtOnceWhereTheNewOneMadeNothing) {
  const StageGraph second = graph(kSecond);
  second.begin("model");
  fs::create_directories(scratch_ / "model");
  second.fail("model");
  EXPECT_EQ(slurp(scratch_ / "model" / "weights"), kFirst);
  EXPECT_EQ(second.state("model"), StageState::kStale);
  expect_finished(kFirst);
}

TEST_F(SetAside, ItComesBackWithItsConfiguration) {
  const StageGraph second = graph(kSecond);
  second.begin("model");
  write_model(kSecond);
  second.fail("model");
  EXPECT_EQ(second.state("model"), StageState::kStarted) << "another start goes on";
  EXPECT_EQ(slurp(scratch_ / "model" / "weights"), kSecond);
  expect_finished(kFirst);
}

TEST_F(SetAside, ItOutlastsSeveralAttempts) {
  for (const std::string& config : {kSecond, kSecond, kThird}) {
    const StageGraph now = graph(config);
    now.begin("model");
    write_model(config);
    now.fail("model");
  }
  EXPECT_EQ(graph(kSecond).state("model"), StageState::kStale);
  expect_finished(kFirst);
}

/// Runs `work` in children that are killed before their first, second, ... change of a file; calls
/// `check` after each.
void kill_at_every_change(const std::function<void()>& prepare, const std::function<void()>& work,
                          const std::function<void()>& check) {
  for (int fatal = 0; fatal < 100; ++fatal) {
    prepare();
    const int status = testing::run_in_child([&] {
      set_file_hook([left = fatal](std::string_view, const fs::path&) mutable {
        if (left-- == 0) ::raise(SIGKILL);
      });
      work();
    });
    SCOPED_TRACE(fatal);
    check();
    if (testing::ended_well(status)) return;
    ASSERT_TRUE(testing::was_killed(status));
  }
  FAIL() << "too many changes";
}

TEST_F(SetAside, AKillBeforeTheNewOneIsFinishedLosesNothing) {
  const auto attempt = [this] {
    const StageGraph second = graph(kSecond);
    second.begin("model");
    write_model(kSecond);
    second.fail("model");
    graph(kThird).begin("model");
    graph(kThird).fail("model");
  };
  kill_at_every_change([this] { make(kFirst); }, attempt, [this] { expect_finished(kFirst); });
}

TEST_F(SetAside, AKillWhileItComesBackLosesNothing) {
  const auto prepare = [this] {
    make(kFirst);
    const StageGraph second = graph(kSecond);
    second.begin("model");
    write_model(kSecond);
  };
  kill_at_every_change(
      prepare, [this] { graph(kFirst).restore(); }, [this] { expect_finished(kFirst); });
}

TEST_F(SetAside, AKillWhileTheNewOneIsFinishedLeavesOneOfThem) {
  const auto prepare = [this] {
    make(kFirst);
    const StageGraph second = graph(kSecond);
    second.begin("model");
    write_model(kSecond);
  };
  kill_at_every_change(
      prepare, [this] { graph(kSecond).finish("model", 1.5); },
      [this] {
        const bool is_new = graph(kSecond).state("model") == StageState::kFinished;
        expect_finished(is_new ? kSecond : kFirst);
      });
}

}  // namespace
}  // namespace retro
