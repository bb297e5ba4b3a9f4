// One self-contained HTML page of one run or of several side by side: opens without a network,
// reads on a phone, in light and dark, with a keyboard and a screen reader.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace retro {

/// A run directory, and the stages whose results there are not those of its config.yaml (made from
/// another configuration, or not finished): "eval" is shown with a note, "knn" and "qa" are left
/// out.
struct ReportedRun {
  std::filesystem::path directory;
  std::vector<std::string> stale = {};
};

/// Writes the page of these runs atomically. Every section comes from a file of the run
/// (docs/formats.md) and is left out where that file is absent, or its stage is switched off in
/// config.yaml; several runs get a table of runs and a comparison besides. Throws Error for no
/// directory at all, one that is not there, or a damaged file.
void write_html_report(const std::vector<ReportedRun>& runs, const std::filesystem::path& path);

}  // namespace retro
