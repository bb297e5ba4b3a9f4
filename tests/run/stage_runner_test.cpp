#include "retro/run/stage_runner.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "retro/core/file_system.h"

#include "core/test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::slurp;

class StageRunner : public ::testing::Test {
 protected:
  /// `after` is what the stage reads; it makes the file of its name.
  Stage stage(const std::string& name, std::vector<std::string> after = {}) const {
    Stage made;
    made.name = made.title = name;
    made.after = std::move(after);
    made.outputs = {scratch_ / name};
    return made;
  }
  /// Each stage executes `script`, with the name of its output as $0.
  int run(const StageGraph& graph, const std::string& script) const {
    RunnerOptions options;
    options.program = "/bin/sh";
    options.arguments = [&](const Stage& stage) {
      return std::vector<std::string>{"-c", script, stage.outputs.front().string()};
    };
    return run_stages(graph, options);
  }
  StageGraph graph(std::vector<Stage> stages) const {
    return {scratch_ / "run", std::move(stages)};
  }

  testing::ScratchDirectory scratch_;
};

TEST_F(StageRunner, StagesComeAfterWhatTheyRead) {
  const StageGraph all = graph({stage("one"), stage("two", {"one"})});
  EXPECT_EQ(run(all, "cat \"$(dirname $0)/one\" >\"$0.read\" 2>&1; echo made >\"$0\""), 0);
  EXPECT_EQ(slurp(scratch_ / "two.read"), "made\n");
  EXPECT_EQ(all.state("two"), StageState::kFinished);
}

TEST_F(StageRunner, AStageThatEndsWellWithoutItsOutputEndsTheRun) {
  const StageGraph all = graph({stage("one"), stage("two", {"one"}), stage("three", {"two"})});
  EXPECT_EQ(testing::error_of([&] { run(all, "exit 0"); }),
            "stage `two` waits for `one`, which has not finished: it made no " +
                (scratch_ / "one").string());
}

TEST_F(StageRunner, AFailedStageLeavesWhatItMadeBefore) {
  Stage model = stage("model");
  model.keeps_earlier = true;
  EXPECT_EQ(run(graph({model}), "echo first >\"$0\""), 0);
  model.config = "a key that was mistyped";
  EXPECT_EQ(run(graph({model}), "exit 3"), 3);
  EXPECT_EQ(slurp(scratch_ / "model"), "first\n");
  model.config = "";
  EXPECT_EQ(graph({model}).state("model"), StageState::kFinished);
}

void wait_for(const fs::path& path) {
  for (int i = 0; i < 1000 && !fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(fs::exists(path));
}

// A terminal sends Ctrl-C to every process of the foreground group; a second signal would end a
// training in the middle of its step.
TEST_F(StageRunner, AnInterruptOfTheGroupReachesAStageOnce) {
  const StageGraph all = graph({stage("one")});
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::setpgid(0, 0);
    ::_exit(
        run(all,
            "trap 'echo INT >>\"$0.log\"' INT; trap 'echo TERM >>\"$0.log\"; sleep 0.3; exit 9' "
            "TERM; touch \"$0.ready\"; while :; do sleep 0.05; done"));
  }
  wait_for(scratch_ / "one.ready");
  ::kill(-runner, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(runner, &status, 0), runner);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(slurp(scratch_ / "one.log"), "TERM\n");
}

// Ctrl-Z reaches the runner alone; its stages stop, and go on, with it.
TEST_F(StageRunner, ASuspendedRunnerSuspendsItsStages) {
  const StageGraph all = graph({stage("one")});
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::setpgid(0, 0);
    ::_exit(run(all,
                "trap 'echo went on >\"$0\"' CONT; touch \"$0.ready\"; "
                "while [ ! -e \"$0\" ]; do sleep 0.05; done"));
  }
  wait_for(scratch_ / "one.ready");
  ::kill(-runner, SIGTSTP);
  int status = 0;
  ASSERT_EQ(::waitpid(runner, &status, WUNTRACED), runner);
  EXPECT_TRUE(WIFSTOPPED(status));
  ::kill(-runner, SIGCONT);
  ASSERT_EQ(::waitpid(runner, &status, 0), runner);
  EXPECT_TRUE(testing::ended_well(status));
  EXPECT_EQ(slurp(scratch_ / "one"), "went on\n");
}

}  // namespace
}  // namespace retro
