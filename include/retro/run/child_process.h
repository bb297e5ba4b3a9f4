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
///
/// The child is a process group of its own: Ctrl-C and Ctrl-Z reach this process alone, which
/// passes on what it means to. Once this process is no more, the child gets SIGTERM. Start it on a
/// thread that lives as long.
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

/// Waits for the child, passing on an interrupt (as SIGTERM) and a suspension of this process.
/// Returns its exit status; 130 where an interrupt came and it ended well all the same.
int run_to_end(ChildProcess& child);

/// The running binary.
std::filesystem::path own_executable();

}  // namespace retro
