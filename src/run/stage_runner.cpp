#include "retro/run/stage_runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>

#include "retro/core/error.h"
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
    const InterruptGuard interrupts;
    const SuspendGuard suspensions;
    while (!running_.empty() || (!waiting_.empty() && status_ == 0)) {
      if (interrupt_requested() && status_ == 0) stop(kInterruptedExitStatus);
      if (suspend_requested()) suspend();
      if (status_ == 0) start_ready();
      if (running_.empty() && !waiting_.empty() && status_ == 0) throw_stuck();
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

  bool is_finished(const std::string& name) const {
    return graph_.state(name) == StageState::kFinished;
  }

  bool is_waiting(const std::string& name) const {
    return std::ranges::any_of(waiting_, [&](const Stage* stage) { return stage->name == name; });
  }

  bool is_ready(const Stage& stage) const {
    return std::ranges::all_of(stage.after,
                               [this](const auto& name) { return is_finished(name); }) &&
           (running_.empty() || threads_in_use() + stage.num_threads <= options_.num_threads);
  }

  /// Nothing runs and nothing is ready: a stage ended well, but not everything it makes is there.
  [[noreturn]] void throw_stuck() const {
    for (const Stage* stage : waiting_) {
      for (const std::string& before : stage->after) {
        if (is_finished(before) || is_waiting(before)) continue;
        throw Error(fmt::format("stage `{}` waits for `{}`, which has not finished: {}",
                                stage->name, before, graph_.why_unfinished(before)));
      }
    }
    throw Error("no stage can start");
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
                        std::make_unique<ChildProcess>(options_.program, options_.arguments(stage),
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
    graph_.fail(running.stage->name);
    if (status_ == 0) {
      log_warning(
          "[{}] ended with status {}; what it finished is kept, run the same command to go on",
          running.stage->title, status);
      stop(status);
    }
  }

  void stop(int status) {
    status_ = status;
    send(SIGTERM);
  }

  /// Ctrl-Z, which reached this process alone.
  void suspend() const {
    send(SIGTSTP);
    suspend_now();
    send(SIGCONT);
  }

  void send(int signal) const {
    for (const RunningStage& running : running_) running.process->send_signal(signal);
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
