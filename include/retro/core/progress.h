// One line that says how far a long piece of work is, how fast, and how long it still takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace retro {

/// What a progress line says. `already_done` units were finished before this process began (a
/// resumed run): they count for the percentage but not for the rate. `total` of 0 means unknown.
struct ProgressState {
  std::string label;
  std::string unit;
  int64_t total = 0;
  int64_t done = 0;
  int64_t already_done = 0;
  double elapsed_seconds = 0;
  std::string detail;
};

/// "embed  [####................]  20 %  1,000/5,000 chunks  250/s  16 s left  loss 3.21"
std::string progress_line(const ProgressState& state, bool with_bar);

/// Rewrites one line of standard error on a terminal (at most ten times a second); prints a line
/// every 15 s elsewhere. Silent after `set_log_quiet`. Thread-compatible: one owner.
class Progress {
 public:
  /// `unit` is plural ("chunks"); `total` of 0 means unknown.
  Progress(std::string label, int64_t total, std::string unit, int64_t already_done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` units are finished in all (`already_done` included); `detail` is appended
  /// ("loss 3.21").
  void update(int64_t done, std::string_view detail = {});
  /// Ends the line with the total time; called by the destructor if not before.
  void finish(std::string_view detail = {});

 private:
  ProgressState state_;
  bool is_terminal_;
  bool is_finished_ = false;
  bool has_printed_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_print_;
};

/// "2 d 03 h", "1 h 02 min", "3 min 20 s", "12 s".
std::string format_duration(double seconds);
/// "1.4 GB", "312 kB", "17 B" (powers of 1000).
std::string format_bytes(uint64_t bytes);
/// "1,234,567".
std::string format_count(int64_t count);

}  // namespace retro
