#include "retro/core/log.h"

#include <atomic>
#include <mutex>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal_line.h"

namespace retro {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

std::atomic<bool> is_quiet_now{false};
std::mutex terminal_mutex;
bool has_rewritten_line = false;

/// Nothing sensible can be done when standard error itself fails.
void write_error_stream(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

bool is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

void write_terminal_line(std::string_view line) {
  const std::lock_guard lock(terminal_mutex);
  std::string text(has_rewritten_line ? kClearLine : std::string_view{});
  has_rewritten_line = false;
  text.append(line).append("\n");
  write_error_stream(text);
}

void rewrite_terminal_line(std::string_view line) {
  const std::lock_guard lock(terminal_mutex);
  std::string text(kClearLine);
  has_rewritten_line = true;
  write_error_stream(text.append(line));
}

bool is_log_quiet() { return is_quiet_now; }

void log_info_line(std::string_view line) {
  if (!is_quiet_now) write_terminal_line(line);
}

void log_warning_line(std::string_view line) {
  write_terminal_line(fmt::format("warning: {}", line));
}

void set_log_quiet(bool is_quiet) { is_quiet_now = is_quiet; }

}  // namespace retro
