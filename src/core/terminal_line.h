// The one place that writes to standard error: whole lines, and one line that is rewritten in
// place.
#pragma once

#include <string_view>

namespace retro {

/// True if standard error is a terminal (then progress may rewrite its line).
bool is_terminal();
/// Columns of that terminal, 80 if unknown.
int terminal_width();
/// One line in one write call; a rewritten line that stands there is cleared first. Any thread.
void write_terminal_line(std::string_view line);
/// Replaces the current line without ending it. Any thread.
void rewrite_terminal_line(std::string_view line);
/// True when `set_log_quiet` silenced information and progress.
bool is_log_quiet();

}  // namespace retro
