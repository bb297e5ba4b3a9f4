#include "retro/run/child_process.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/log.h"

namespace retro {

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
  pid_ = ::fork();
  RETRO_CHECK(pid_ >= 0, "cannot start {}: {}", program.string(), std::strerror(errno));
  if (pid_ == 0) {
    if (ends[1] >= 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
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

std::filesystem::path own_executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace retro
