// A stage as a child process of the same binary, with its own thread count (Torch's is
// process-wide).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace retro {

/// Starts `program` with `arguments`. With a non-empty `label` its output is passed on line by line
/// as "label | line" (for stages that run side by side); otherwise it writes to this process's own
/// terminal.
class ChildProcess {
 public:
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               std::string label);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Passes on what the child has printed; waits at most `milliseconds` for something to happen.
  /// True once it has ended.
  bool poll(int milliseconds);
  /// Exit status, 128 + signal for a killed child; valid once poll returned true.
  int status() const { return status_; }
  void send_signal(int signal) const;

 private:
  void pass_on(bool is_last);
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
  std::string label_;
  std::string pending_;
};

/// The running binary.
std::filesystem::path own_executable();

}  // namespace retro
