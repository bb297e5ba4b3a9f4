// One self-contained HTML page of one run or of several side by side: opens without a network,
// reads on a phone, in light and dark, with a keyboard and a screen reader.
#pragma once

#include <filesystem>
#include <vector>

namespace retro {

/// Writes the page of these run directories atomically. Every section comes from a file of the run
/// (docs/formats.md) and is left out where that file is absent; several runs get a table of runs
/// and a comparison besides. Throws Error for no directory at all, one that is not there, or a
/// damaged file.
void write_html_report(const std::vector<std::filesystem::path>& runs,
                       const std::filesystem::path& path);

}  // namespace retro
