// Messages on standard error. Results go to standard output and never through here.
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace retro {

/// What happens: one plain line.
void log_info_line(std::string_view line);
/// Something the user should know but need not act on; prefixed with "warning: ".
void log_warning_line(std::string_view line);
/// Silences log_info (warnings stay); used by --quiet and by tests.
void set_log_quiet(bool is_quiet);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_info_line(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_warning_line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace retro
