// The end of what a command prints.
#pragma once

namespace retro::tools {

/// Hands everything that was printed to the system. Throws Error where standard output did not
/// take it all (a full disk): a result that is cut off must not look like one.
void finish_output();

}  // namespace retro::tools
