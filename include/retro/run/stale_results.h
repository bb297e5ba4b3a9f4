// Which results in a run directory are not those of its configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace retro {

/// Of the stages "eval", "knn" and "qa", those whose result lies in the run directory though its
/// record says that it was made from something else than config.yaml asks for now; "knn" and "qa"
/// also where they are not finished. A warning says each. Stages that left no record are taken as
/// they are, and so is everything where the keys cannot be computed (a configuration that is no
/// longer read, text that is gone), which is said too.
std::vector<std::string> stale_results(const std::filesystem::path& run);

}  // namespace retro
