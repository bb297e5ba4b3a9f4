#include "retro/run/stage_runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>

#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/core/seconds_since.h"
#include "retro/core/signal.h"
#include "retro/run/child_process.h"

namespace retro {
namespace {

using Clock = std::chrono::steady_clock;

struct RunningStage {
  const Stage* stage;
  std::unique_ptr<ChildProcess> process;
  Clock::time_point start;
};

/// One pass over the graph: which stages wait, which run, how many threads they hold.
class Runner {
 public:
  Runner(const StageGraph& graph, const RunnerOptions& options)
      : graph_(graph), options_(options) {}

  int run() {
    list_waiting();
    InterruptGuard interrupts;
    while (!running_.empty() || (!waiting_.empty() && status_ == 0)) {
      if (interrupt_requested() && status_ == 0) stop(130);
      if (status_ == 0) start_ready();
      collect();
    }
    return status_;
  }

 private:
  void list_waiting() {
    for (const Stage& stage : graph_.stages()) {
      if (graph_.state(stage.name) == StageState::kFinished) {
        log_info("[{}] up to date ({} when it was made)", stage.title,
                 format_duration(graph_.seconds(stage.name)));
      } else {
        waiting_.push_back(&stage);
      }
    }
  }

  bool is_ready(const Stage& stage) const {
    const auto is_finished = [this](const std::string& name) {
      return graph_.state(name) == StageState::kFinished;
    };
    return std::all_of(stage.after.begin(), stage.after.end(), is_finished) &&
           (running_.empty() || threads_in_use() + stage.num_threads <= options_.num_threads);
  }

  int threads_in_use() const {
    int threads = 0;
    for (const RunningStage& running : running_) threads += running.stage->num_threads;
    return threads;
  }

  /// Ready stages that will run beside another get a label before their lines.
  void start_ready() {
    const auto count_ready =
        std::count_if(waiting_.begin(), waiting_.end(), [this](const Stage* stage) {
          return is_ready(*stage) && stage->num_threads * 2 <= options_.num_threads;
        });
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (!is_ready(**it)) {
        ++it;
        continue;
      }
      start(**it, count_ready > 1 || !running_.empty());
      it = waiting_.erase(it);
    }
  }

  void start(const Stage& stage, bool is_labelled) {
    const bool resumes = graph_.state(stage.name) == StageState::kStarted;
    log_info("[{}] {} ({} thread{})", stage.title, resumes ? "goes on where it stopped" : "starts",
             stage.num_threads, stage.num_threads == 1 ? "" : "s");
    graph_.begin(stage.name);
    running_.push_back({&stage,
                        std::make_unique<ChildProcess>(own_executable(), options_.arguments(stage),
                                                       is_labelled ? stage.name : std::string{}),
                        Clock::now()});
  }

  void collect() {
    for (auto it = running_.begin(); it != running_.end();) {
      if (!it->process->poll(100)) {
        ++it;
        continue;
      }
      finish(*it);
      it = running_.erase(it);
    }
  }

  void finish(const RunningStage& running) {
    const double seconds = seconds_since(running.start);
    const int status = running.process->status();
    if (status == 0) {
      graph_.finish(running.stage->name, seconds);
      log_info("[{}] done in {}", running.stage->title, format_duration(seconds));
      return;
    }
    if (status_ == 0) {
      log_warning(
          "[{}] ended with status {}; what it finished is kept, run the same command to go on",
          running.stage->title, status);
      stop(status);
    }
  }

  void stop(int status) {
    status_ = status;
    for (const RunningStage& running : running_) running.process->send_signal(SIGTERM);
  }

  const StageGraph& graph_;
  const RunnerOptions& options_;
  std::vector<const Stage*> waiting_;
  std::list<RunningStage> running_;
  int status_ = 0;
};

}  // namespace

int run_stages(const StageGraph& graph, const RunnerOptions& options) {
  return Runner(graph, options).run();
}

}  // namespace retro
