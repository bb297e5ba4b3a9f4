#include "retro/core/progress.h"

#include <algorithm>
#include <utility>

#include "retro/core/log.h"
#include "retro/core/utf8.h"

#include "terminal_line.h"

namespace retro {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(15);
constexpr int64_t kBarWidth = 20;

std::string bar_of(int64_t done, int64_t total) {
  const int64_t filled = std::clamp<int64_t>(
      static_cast<int64_t>(static_cast<double>(done) / static_cast<double>(total) * kBarWidth), 0,
      kBarWidth);
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '.') + "]";
}

std::string format_rate(double rate) {
  return rate >= 100 ? format_count(static_cast<int64_t>(rate)) : fmt::format("{:.3g}", rate);
}

/// The first `width` characters; bytes inside a UTF-8 character are not counted.
std::string cut_to_width(std::string line, int64_t width) {
  int64_t characters = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (is_continuation_byte(line[i])) continue;
    if (++characters > width) return line.substr(0, i);
  }
  return line;
}

}  // namespace

std::string progress_line(const ProgressState& state, bool with_bar) {
  std::string line = state.label;
  if (state.total > 0) {
    const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
    if (with_bar) line += "  " + bar_of(state.done, state.total);
    line += fmt::format("  {:.0f} %  {}/{} {}", 100 * std::clamp(share, 0.0, 1.0),
                        format_count(state.done), format_count(state.total), state.unit);
  } else {
    line += fmt::format("  {} {}", format_count(state.done), state.unit);
  }
  const double worked = static_cast<double>(state.done - state.already_done);
  if (worked > 0 && state.elapsed_seconds > 0) {
    const double rate = worked / state.elapsed_seconds;
    line += fmt::format("  {}/s", format_rate(rate));
    if (state.total > state.done) {
      const double left = static_cast<double>(state.total - state.done) / rate;
      line += fmt::format("  {} left", format_duration(left));
    }
  }
  if (!state.detail.empty()) line += "  " + state.detail;
  return line;
}

Progress::Progress(std::string label, int64_t total, std::string unit, int64_t already_done)
    : is_terminal_(is_terminal()), start_(steady_clock::now()), last_print_(start_) {
  state_.label = std::move(label);
  state_.unit = std::move(unit);
  state_.total = total;
  state_.done = state_.already_done = already_done;
}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, std::string_view detail) {
  state_.done = done;
  const auto now = steady_clock::now();
  const bool is_due = is_terminal_ ? !has_printed_ || now - last_print_ >= kTerminalInterval
                                   : now - last_print_ >= kPlainInterval;
  if (is_finished_ || !is_due || is_log_quiet()) return;
  has_printed_ = true;
  last_print_ = now;
  state_.detail = detail;
  state_.elapsed_seconds = duration<double>(now - start_).count();
  if (is_terminal_) {
    rewrite_terminal_line(cut_to_width(progress_line(state_, true), terminal_width() - 1));
  } else {
    write_terminal_line(progress_line(state_, false));
  }
}

void Progress::finish(std::string_view detail) {
  if (std::exchange(is_finished_, true) || is_log_quiet()) return;
  const double seconds = duration<double>(steady_clock::now() - start_).count();
  std::string line = fmt::format("{}  {} {} in {}", state_.label, format_count(state_.done),
                                 state_.unit, format_duration(seconds));
  if (!detail.empty()) line.append("  ").append(detail);
  write_terminal_line(line);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e15) + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const int64_t minutes = whole / 60;
  if (minutes < 24 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {:02} h", minutes / 60 / 24, minutes / 60 % 24);
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); value /= 1000) ++unit;
  return value < 9.95 ? fmt::format("{:.1f} {}", value, kUnits[unit])
                      : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

std::string format_count(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t sign = count < 0 ? 1 : 0;
  for (size_t place = digits.size(); place > sign + 3;) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

}  // namespace retro
