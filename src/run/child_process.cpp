#include "retro/run/child_process.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/signal.h"

namespace retro {
namespace {

/// Holds signals back: between fork and exec a child would take one with its parent's handler,
/// and forget it.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGTSTP}) ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &earlier_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  void release() const { ::sigprocmask(SIG_SETMASK, &earlier_, nullptr); }

 private:
  sigset_t earlier_{};
};

/// In the child, before it becomes another program.
void leave_the_group_of(pid_t parent) {
  ::setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGTSTP}) ::signal(signal, SIG_DFL);
  ::signal(SIGTTOU, SIG_IGN);  // writes to the terminal under `stty tostop` too
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);  // it ended before that
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments, std::string label)
    : label_(std::move(label)) {
  std::array<int, 2> ends{-1, -1};
  if (!label_.empty()) {
    RETRO_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "cannot make a pipe: {}",
                std::strerror(errno));
  }
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const HeldSignals held;
  pid_ = ::fork();
  RETRO_CHECK(pid_ >= 0, "cannot start {}: {}", program.string(), std::strerror(errno));
  if (pid_ == 0) {
    leave_the_group_of(parent);
    held.release();
    if (ends[1] >= 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);  // whichever of the two comes first
  if (ends[1] >= 0) ::close(ends[1]);
  output_ = ends[0];
}

ChildProcess::~ChildProcess() {
  if (!has_ended_) {
    send_signal(SIGTERM);
    while (!poll(100)) {
    }
  }
  if (output_ >= 0) ::close(output_);
}

void ChildProcess::send_signal(int signal) const {
  if (!has_ended_ && pid_ > 0) ::kill(pid_, signal);
}

void ChildProcess::pass_on(bool is_last) {
  size_t start = 0;
  for (size_t end = pending_.find('\n'); end != std::string::npos;
       end = pending_.find('\n', start)) {
    log_info("{} | {}", label_, pending_.substr(start, end - start));
    start = end + 1;
  }
  pending_.erase(0, start);
  if (is_last && !pending_.empty()) log_info("{} | {}", label_, pending_);
}

bool ChildProcess::poll(int milliseconds) {
  if (has_ended_) return true;
  if (output_ >= 0) {
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) > 0) {
      std::array<char, 4096> buffer;
      const ssize_t count = ::read(output_, buffer.data(), buffer.size());
      if (count > 0) {
        pending_.append(buffer.data(), static_cast<size_t>(count));
        pass_on(false);
        return false;
      }
      ::close(output_);
      output_ = -1;
      pass_on(true);
    }
  }
  int raw = 0;
  const pid_t ended = ::waitpid(pid_, &raw, WNOHANG);
  if (ended == pid_) {
    has_ended_ = true;
    status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    return true;
  }
  if (output_ < 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return false;
}

int run_to_end(ChildProcess& child) {
  const InterruptGuard interrupts;
  const SuspendGuard suspensions;
  bool is_told = false;
  while (!child.poll(100)) {
    if (interrupt_requested() && !is_told) {
      child.send_signal(SIGTERM);
      is_told = true;
    }
    if (suspend_requested()) {
      child.send_signal(SIGTSTP);
      suspend_now();
      child.send_signal(SIGCONT);
    }
  }
  const bool is_cut_off = interrupt_requested() && child.status() == 0;
  return is_cut_off ? kInterruptedExitStatus : child.status();
}

std::filesystem::path own_executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace retro
